// Generates the TypeScript of an enum, message or service. Rejects what src/wire/protobuf does not support. Pure.

import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  type DescService,
  ScalarType,
} from '@bufbuild/protobuf';

const scalars: Readonly<Partial<Record<ScalarType, { table: string; type: string }>>> = {
  [ScalarType.STRING]: { table: 'string', type: 'string' },
  [ScalarType.BOOL]: { table: 'bool', type: 'boolean' },
  [ScalarType.INT32]: { table: 'int32', type: 'number' },
  [ScalarType.INT64]: { table: 'int64', type: 'bigint' },
};

const wrappers: Readonly<Record<string, string>> = {
  'google.protobuf.BoolValue': 'boolean',
  'google.protobuf.Int64Value': 'bigint',
};

/** `VolumeCapability_AccessMode_Mode` */
function typeName(type: DescMessage | DescEnum): string {
  return tableName(type).replaceAll('.', '_');
}

/** `VolumeCapability.AccessMode.Mode`; those of protobuf itself in full. */
function tableName(type: DescMessage | DescEnum): string {
  const { package: packageName } = type.file.proto;
  return packageName === 'google.protobuf' ? type.typeName : type.typeName.slice(packageName.length + 1);
}

export function enumText(each: DescEnum): string {
  const name = typeName(each);
  const values = each.values.map(({ name, number }) => `  ${name}: ${number},`).join('\n');
  return `export const ${name} = file.enumeration('${tableName(each)}', {
${values}
});
export type ${name} = (typeof ${name})[keyof typeof ${name}] | UnknownEnum;
`;
}

export function messageText(message: DescMessage): string {
  const name = typeName(message);
  const members = message.members.map((member) =>
    member.kind === 'oneof' ? oneofMember(member) : fieldMember(member),
  );
  const lines = message.fields.toSorted((a, b) => a.number - b.number).map(tableLine);
  const table = lines.length === 0 ? "''" : `\`\n${lines.map((line) => `  ${line}`).join('\n')}\n\``;
  return `export type ${name} = Message<'${message.typeName}'> & {${members.map((m) => `\n  ${m}`).join('')}${members.length > 0 ? '\n' : ''}};
export const ${name}Schema: DescMessage<${name}> = file.message('${tableName(message)}', ${table});
`;
}

function oneofMember(oneof: DescOneof): string {
  const cases = oneof.fields.map(
    (field) => `    | { case: '${field.localName}'; value: ${fieldType(field)} }`,
  );
  return `${oneof.localName}:\n${cases.join('\n')}\n    | { case: undefined; value?: undefined };`;
}

function fieldMember(field: DescField): string {
  const isOptional = field.fieldKind === 'message';
  return `${field.localName}${isOptional ? '?' : ''}: ${fieldType(field)}${isOptional ? ' | undefined' : ''};`;
}

function fieldType(field: DescField): string {
  switch (field.fieldKind) {
    case 'scalar':
      return scalar(field, field.scalar).type;
    case 'enum':
      return typeName(field.enum);
    case 'map':
      return '{ [key: string]: string }';
    case 'message':
      return messageType(field.message);
    case 'list':
      if (field.listKind === 'message') return `${messageType(field.message)}[]`;
      return field.listKind === 'enum'
        ? `${typeName(field.enum)}[]`
        : `${scalar(field, field.scalar).type}[]`;
  }
}

function messageType(message: DescMessage): string {
  if (message.typeName === 'google.protobuf.Timestamp') return 'Timestamp';
  return wrappers[message.typeName] ?? typeName(message);
}

function tableLine(field: DescField): string {
  const secret = hasSecretOption(field) ? ' secret' : '';
  const oneof = field.oneof ? ` of ${field.oneof.name}` : '';
  const repeated = field.fieldKind === 'list' ? 'repeated ' : '';
  return `${field.number} ${field.name} ${repeated}${tableType(field)}${oneof}${secret}`;
}

function tableType(field: DescField): string {
  if (field.fieldKind === 'map') {
    if (
      field.mapKind === 'scalar' &&
      field.scalar === ScalarType.STRING &&
      field.mapKey === ScalarType.STRING
    ) {
      return 'map';
    }
    throw new Error(`${field.parent.typeName}.${field.name}: only maps of strings to strings are supported`);
  }
  if (field.message) return tableName(field.message);
  if (field.enum) return tableName(field.enum);
  return scalar(field, field.scalar as ScalarType).table;
}

function scalar(field: DescField, type: ScalarType): { table: string; type: string } {
  const known = scalars[type];
  const isOptional = field.proto.proto3Optional;
  if (known && !isOptional) return known;
  throw new Error(
    `${field.parent.typeName}.${field.name}: ${isOptional ? 'optional ' : ''}${ScalarType[type]} is not supported`,
  );
}

/** `csi_secret`, CSI's extension of field options, by its number. */
const CSI_SECRET = 1059;

function hasSecretOption(field: DescField): boolean {
  return field.proto.options?.$unknown?.some(({ no, data }) => no === CSI_SECRET && data[0] === 1) ?? false;
}

export function methodsText(service: DescService): string {
  const methods = service.methods.map((method) => {
    const { localName, methodKind, input, output } = method;
    if (methodKind !== 'unary' && methodKind !== 'server_streaming') {
      throw new Error(`${service.typeName}.${method.name}: ${methodKind} calls are not supported`);
    }
    const types = `input: ${typeName(input)}Schema, output: ${typeName(output)}Schema`;
    return `  ${localName}: { methodKind: '${methodKind}', ${types} },`;
  });
  return `{\n${methods.join('\n')}\n}`;
}
