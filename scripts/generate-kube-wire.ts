// Generates src/apiserver/protobuf/generated/messages.ts: the wire numbers of the Kubernetes kinds that are served, from a
// Kubernetes source tree given as the only argument. Field numbers and types come from generated.proto; what JSON calls
// a field, whether an empty value means something, and which structs JSON folds into their parent, from the Go types.

import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [source] = process.argv.slice(2);
if (source === undefined) throw new Error('usage: generate-kube-wire.ts KUBERNETES_SOURCE_DIRECTORY');
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = join(root, 'src/apiserver/protobuf/generated/messages.ts');

const PACKAGES: Record<string, string> = {
  'meta/v1': 'apimachinery/pkg/apis/meta/v1',
  ...Object.fromEntries(
    [
      'core/v1',
      'apps/v1',
      'authentication/v1',
      'authorization/v1',
      'coordination/v1',
      'events/v1',
      'policy/v1',
    ]
      .concat(['rbac/v1', 'storage/v1'])
      .map((name) => [name, `api/${name}`]),
  ),
};
/** Written out as code in decode-message.ts: their JSON looks nothing like their fields. */
const SPECIAL: Record<string, string> = {
  'k8s.io.apimachinery.pkg.apis.meta.v1.Time': 'Time',
  'k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime': 'MicroTime',
  'k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1': 'Raw',
  'k8s.io.apimachinery.pkg.runtime.RawExtension': 'Raw',
  'k8s.io.apimachinery.pkg.api.resource.Quantity': 'Quantity',
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': 'IntOrString',
};
const SCALARS: Record<string, string> = {
  string: 'string',
  bool: 'bool',
  bytes: 'bytes',
  double: 'double',
  int32: 'int',
  int64: 'int',
  uint32: 'int',
  uint64: 'int',
};

interface GoField {
  json: string;
  isInline: boolean;
  keepsEmpty: boolean;
}

/** Struct, then the field's name in protobuf. */
function readGo(text: string): Map<string, Map<string, GoField>> {
  const structs = new Map<string, Map<string, GoField>>();
  for (const [, struct = '', body = ''] of text.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
    const fields = new Map<string, GoField>();
    for (const line of body.split('\n')) {
      const found = /^\t(?:(\w+)\s+)?(\S+)\s+`(?:.*?)json:"([^"]*)".*?protobuf:"[^"]*name=(\w+)/.exec(line);
      if (!found) continue;
      const [, goName, type = '', tag = '', name = ''] = found;
      const [json = '', ...options] = tag.split(',');
      const isInline = json === '' && goName === undefined;
      const keepsEmpty = type.startsWith('*') || !options.includes('omitempty');
      fields.set(name, { json, isInline, keepsEmpty });
    }
    structs.set(struct, fields);
  }
  return structs;
}

const messages = new Map<string, { text: string; uses: string[]; isRoot: boolean }>();

function typeOf(written: string, packageName: string): string {
  const special =
    SPECIAL[written.replace(/^\./, '')] ??
    (packageName === 'meta/v1' ? SPECIAL[`k8s.io.apimachinery.pkg.apis.meta.v1.${written}`] : undefined);
  if (special) return special;
  const scalar = SCALARS[written];
  if (scalar) return scalar;
  const [, owner = packageName, name = written] =
    /\.k8s\.io\.(?:api|apimachinery\.pkg\.apis)\.(\w+\.\w+)\.(\w+)$/.exec(written) ?? [];
  return `${owner.replace('.', '/')}.${name}`;
}

for (const [packageName, path] of Object.entries(PACKAGES)) {
  const read = (file: string) => readFile(join(source, 'staging/src/k8s.io', path, file), 'utf8');
  const structs = readGo(await read('types.go'));
  for (const [, name = '', body = ''] of (await read('generated.proto')).matchAll(
    /^message (\w+) \{\n(.*?)^\}/gms,
  )) {
    const struct = structs.get(name);
    const fields: string[] = [];
    const uses: string[] = [];
    let isRoot = name === 'DeleteOptions';
    for (const [, label = '', mapped, plain, field = '', number = ''] of body.matchAll(
      /^ {2}(optional|repeated|map<string, )\s*(?:([\w.]+)> |([\w.]+) )(\w+) = (\d+);/gm,
    )) {
      const type = typeOf(mapped ?? plain ?? '', packageName);
      const go = struct?.get(field);
      const shape = label === 'repeated' ? '*' : label === 'optional' ? '' : '%';
      const flag = go?.isInline ? '<' : go?.keepsEmpty ? '!' : '';
      fields.push(`${number} ${go?.json || field} ${shape}${flag}${type}`);
      if (type.includes('.')) uses.push(type);
      if (number === '1' && type === 'meta/v1.ObjectMeta') isRoot = true;
    }
    // A Go slice that protobuf has to wrap.
    const isList = !struct && fields.length === 1 && fields[0]?.startsWith('1 items *');
    messages.set(`${packageName}.${name}`, { text: (isList ? '[]' : '') + fields.join('|'), uses, isRoot });
  }
}

const reached = new Set<string>();
const visit = (name: string) => {
  if (reached.has(name)) return;
  reached.add(name);
  for (const used of messages.get(name)?.uses ?? []) visit(used);
};
for (const [name, { isRoot }] of messages) if (isRoot && !name.endsWith('List')) visit(name);

const lines = [...reached].sort().map((name) => `  '${name}': '${messages.get(name)?.text ?? ''}',`);
await writeFile(
  output,
  [
    '// Generated by scripts/generate-kube-wire.ts from the Kubernetes API types (Apache-2.0): do not edit.',
    '// Each message: `number json-name type` for each field, `|` between them; `*` repeated, `%` map of strings to,',
    '// `<` folded into the parent, `!` an empty value is kept; `[]` the message stands for its only list.',
    '',
    'export const messages: Readonly<Record<string, string>> = {',
    ...lines,
    '};',
    '',
  ].join('\n'),
);
