// Descriptors from the compact tables in generated/: one line a field, read when a message of the type is first met.
//
//   2 volume_id string
//   3 volume_context map
//   4 content_source VolumeContentSource
//   5 accessible_topology repeated Topology
//   6 secrets map secret
//   1 mount VolumeCapability.MountVolume of access_type

import type {
  DescField,
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
} from './descriptor.ts';

const scalars: ReadonlySet<string> = new Set(['string', 'bool', 'int32', 'int64', 'map']);

interface MethodTable {
  readonly [localName: string]: {
    readonly methodKind: DescMethod['methodKind'];
    readonly input: DescMessage;
    readonly output: DescMessage;
  };
}

type Methods<T extends MethodTable> = {
  [K in keyof T]: T[K]['methodKind'] extends 'unary'
    ? DescMethodUnary<T[K]['input'], T[K]['output']>
    : DescMethodServerStreaming<T[K]['input'], T[K]['output']>;
};

export interface ProtoFile {
  message<T extends Message>(name: string, table: string): DescMessage<T>;
  enumeration<const E extends Readonly<Record<string, number>>>(name: string, values: E): E;
  service<const T extends MethodTable>(name: string, methods: T): DescService<Methods<T>>;
}

export function protoFile(packageName: string, imports: readonly DescMessage[] = []): ProtoFile {
  const messages = new Map<string, DescMessage>(imports.map((message) => [message.typeName, message]));
  const enums = new Map<string, ReadonlyMap<number, string>>();

  const readField = (line: string): DescField => {
    const [, number = '', name = '', repeated, type = '', oneof, secret] =
      /^(\d+) (\w+) (repeated )?([\w.]+)(?: of (\w+))?( secret)?$/.exec(line.trim()) ?? [];
    const message = messages.get(type);
    const enumNames = enums.get(type);
    if (!message && !enumNames && !scalars.has(type)) throw new Error(`${packageName}: no field: ${line}`);
    const isWrapper = /^google\.protobuf\.\w+Value$/.test(type);
    const kind = isWrapper ? 'wrapper' : message ? 'message' : enumNames ? 'enum' : type;
    return {
      number: Number(number),
      name,
      localName: camelCase(name),
      kind: kind as DescField['kind'],
      isRepeated: repeated !== undefined,
      oneof: oneof && camelCase(oneof),
      isSecret: secret !== undefined,
      message,
      enumNames,
    };
  };

  return {
    message<T extends Message>(name: string, table: string) {
      let fields: DescField[] | undefined;
      let byNumber: (DescField | undefined)[] = [];
      const read = (): DescField[] => {
        if (fields) return fields;
        fields = table.trim() === '' ? [] : table.trim().split('\n').map(readField);
        byNumber = [];
        for (const field of fields) byNumber[field.number] = field;
        return fields;
      };
      const message: DescMessage<T> = {
        typeName: `${packageName}.${name}`,
        get fields() {
          return read();
        },
        get byNumber() {
          read();
          return byNumber;
        },
      };
      messages.set(name, message as DescMessage);
      return message;
    },

    enumeration(name, values) {
      enums.set(name, new Map(Object.entries(values).map(([key, number]) => [number, key])));
      return values;
    },

    service(name, table) {
      const method: Record<string, DescMethod> = {};
      const service = { typeName: `${packageName}.${name}`, method, methods: [] as DescMethod[] };
      for (const [localName, { methodKind, input, output }] of Object.entries(table)) {
        const methodName = localName.replace(/^./, (letter) => letter.toUpperCase());
        const described = { name: methodName, localName, parent: service, methodKind, input, output };
        method[localName] = described as DescMethod;
        service.methods.push(described as DescMethod);
      }
      // Built from `table`, key by key.
      return service as never;
    },
  };
}

function camelCase(name: string): string {
  return name.replace(/_+(\w)/g, (_, letter: string) => letter.toUpperCase());
}
