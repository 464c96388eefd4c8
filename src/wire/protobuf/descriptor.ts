// Descriptors of messages, methods and services, named as in protobuf-es. Types only.

/** Every message knows its type. */
export type Message<TypeName extends string = string> = { $typeName: TypeName };

export interface DescMessage<T extends Message = Message> {
  /** `csi.v1.CreateVolumeRequest` */
  readonly typeName: string;
  /** Ordered by number. */
  readonly fields: readonly DescField[];
  /** Indexed by number, with holes. */
  readonly byNumber: readonly (DescField | undefined)[];
  /** Carries the type; never set. */
  readonly shape?: T;
}

export type ScalarKind = 'string' | 'bool' | 'int32' | 'int64';

export interface DescField {
  readonly number: number;
  /** As the .proto file spells it: `volume_id`. */
  readonly name: string;
  /** As the code spells it: `volumeId`. */
  readonly localName: string;
  /** `map` is of strings to strings. `wrapper` is a well-known message around one scalar, shown as that scalar. */
  readonly kind: ScalarKind | 'enum' | 'message' | 'wrapper' | 'map';
  readonly isRepeated: boolean;
  /** The oneof of which this is a case. */
  readonly oneof: string | undefined;
  /** Marked `csi_secret` in the .proto file. */
  readonly isSecret: boolean;
  /** Of a `message`, and around the scalar of a `wrapper`. */
  readonly message: DescMessage | undefined;
  /** Of an `enum`: what its numbers are called. */
  readonly enumNames: ReadonlyMap<number, string> | undefined;
}

/** A number that the enum does not define: of a newer peer, or wrong. */
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

/** What `create` takes: the message itself, or any of its fields. */
export type MessageInitShape<D extends DescMessage> = D extends DescMessage<infer T> ? MessageInit<T> : never;

/** Without the message's own name, which would stand in every type error of a driver's author. */
type MessageInit<T extends Message> = {
  [K in Exclude<keyof T, '$typeName'>]?: FieldInit<T[K]> | undefined;
};

type FieldInit<F> = F extends string | number | bigint | boolean | undefined
  ? F
  : F extends (infer U)[]
    ? FieldInit<U>[]
    : F extends Message
      ? MessageInit<F>
      : F extends { case: infer C extends string; value: infer V extends Message }
        ? { case: C; value: MessageInit<V> }
        : F;
