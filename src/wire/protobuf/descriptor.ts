// What messages, methods and services are, to the compiler and at run time. The names are those of protobuf-es, which
// many know. Types only.

/** Every message knows its type. */
export type Message<TypeName extends string = string> = { $typeName: TypeName };

export interface DescMessage<T extends Message = Message> {
  /** `csi.v1.CreateVolumeRequest` */
  readonly typeName: string;
  /** In the order of their numbers. */
  readonly fields: readonly DescField[];
  /** By number; holes for those that there are not. */
  readonly byNumber: readonly (DescField | undefined)[];
  /** For the compiler alone. */
  readonly shape?: T;
}

export type ScalarKind = 'string' | 'bool' | 'int32' | 'int64';

export interface DescField {
  readonly number: number;
  /** As the interface spells it: `volume_id`. */
  readonly name: string;
  /** As the code does: `volumeId`. */
  readonly localName: string;
  /** `map` is of strings to strings. `wrapper` is a message around one scalar, which stands for it. */
  readonly kind: ScalarKind | 'enum' | 'message' | 'wrapper' | 'map';
  readonly isRepeated: boolean;
  /** The member of which this is one case. */
  readonly oneof: string | undefined;
  /** Marked `csi_secret` by the interface. */
  readonly isSecret: boolean;
  /** Of a `message`, and around the scalar of a `wrapper`. */
  readonly message: DescMessage | undefined;
  /** Of an `enum`: what its numbers are called. */
  readonly enumNames: ReadonlyMap<number, string> | undefined;
}

/** A number that an enum has got since, or never had. */
declare const unknown: unique symbol;
export type UnknownEnum = number & { readonly [unknown]: true };

interface DescMethodBase<I extends DescMessage, O extends DescMessage> {
  /** `CreateVolume` */
  readonly name: string;
  /** `createVolume` */
  readonly localName: string;
  readonly parent: DescService;
  readonly input: I;
  readonly output: O;
}

export interface DescMethodUnary<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage>
  extends DescMethodBase<I, O> {
  readonly methodKind: 'unary';
}

export interface DescMethodServerStreaming<
  I extends DescMessage = DescMessage,
  O extends DescMessage = DescMessage,
> extends DescMethodBase<I, O> {
  readonly methodKind: 'server_streaming';
}

export type DescMethod = DescMethodUnary | DescMethodServerStreaming;

export interface DescService<M extends Record<string, DescMethod> = Record<string, DescMethod>> {
  /** `csi.v1.Controller` */
  readonly typeName: string;
  readonly methods: readonly DescMethod[];
  readonly method: M;
}

/** The message that a descriptor describes. */
export type MessageShape<D extends DescMessage> = D extends DescMessage<infer T> ? T : never;

/** What a message can be made of: itself, or any of its fields. */
export type MessageInitShape<D extends DescMessage> =
  D extends DescMessage<infer T> ? T | MessageInit<T> : never;

type MessageInit<T extends Message> = {
  [K in keyof T]?: (K extends '$typeName' ? never : FieldInit<T[K]>) | undefined;
};

type FieldInit<F> = F extends string | number | bigint | boolean | undefined
  ? F
  : F extends (infer U)[]
    ? FieldInit<U>[]
    : F extends Message
      ? F | MessageInit<F>
      : F extends { case: infer C extends string; value: infer V extends Message }
        ? { case: C; value: V | MessageInit<V> }
        : F;
