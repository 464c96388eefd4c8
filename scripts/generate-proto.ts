// Generates src/csi/generated from proto/: the types of the messages, and the tables that src/wire/protobuf reads.
// Parses the .proto files with the locally installed buf; works offline. With --check it writes nothing, and fails with
// the names of stale files.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFileRegistry, type DescMessage, type DescService, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { enumText, messageText, methodsText } from './proto-text.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const generated = join(root, 'src/csi/generated');
const OWN_PROTOS = 'google/protobuf/';

/** Content by path below src/csi/generated. */
function generate(): Map<string, string> {
  const set = execFileSync(
    join(root, 'node_modules/.bin/buf'),
    ['build', 'proto', '--as-file-descriptor-set', '-o', '-'],
    { cwd: root },
  );
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, set));
  const files = new Map<string, string>();
  for (const file of registry.files) {
    // buf's names have no extension.
    if (file.name.startsWith(OWN_PROTOS)) continue;
    const up = '../'.repeat(file.name.split('/').length);
    const body = [
      ...file.enums.map((each) => enumText(each)),
      ...file.messages.flatMap(withNested),
      ...file.services.map(serviceText),
    ];
    const text = body.join('\n');
    files.set(`${file.name}_pb.ts`, `${head(file.name, file.proto.package, { up, text })}\n${text}`);
  }
  return files;
}

function head(name: string, packageName: string, { up, text }: { up: string; text: string }): string {
  const used = (type: string): string[] => (new RegExp(`\\b${type}\\b`).test(text) ? [type] : []);
  const types = ['DescMessage', 'Message', ...used('UnknownEnum')].join(', ');
  const known = [...used('Timestamp').map((type) => `type ${type}`), 'wellKnown'].join(', ');
  return `// Generated from proto/${name}.proto by scripts/generate-proto.ts.

import type { ${types} } from '${up}../wire/protobuf/descriptor.ts';
import { protoFile } from '${up}../wire/protobuf/proto-file.ts';
import { ${known} } from '${up}../wire/protobuf/well-known.ts';

const file = protoFile('${packageName}', wellKnown);
`;
}

/** The nested enums and messages come before the message. */
function withNested(message: DescMessage): string[] {
  return [
    ...message.nestedEnums.map((each) => enumText(each)),
    ...message.nestedMessages.filter((each) => !each.proto.options?.mapEntry).flatMap(withNested),
    messageText(message),
  ];
}

function serviceText(service: DescService): string {
  return `export const ${service.name} = file.service('${service.name}', ${methodsText(service)});\n`;
}

function committed(): Map<string, string> {
  const entries = readdirSync(generated, { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name));
  return new Map(paths.map((path) => [path.slice(generated.length + 1), readFileSync(path, 'utf8')]));
}

const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
const fresh = generate();
if (unknown.length > 0) {
  console.error(`generate-proto: unknown argument ${unknown.join(' ')}; usage: generate-proto.ts [--check]`);
  process.exitCode = 2;
} else if (process.argv.includes('--check')) {
  const old = committed();
  const stale = [...new Set([...fresh.keys(), ...old.keys()])].filter(
    (name) => fresh.get(name) !== old.get(name),
  );
  for (const name of stale.toSorted()) console.error(`stale: src/csi/generated/${name}`);
  if (stale.length > 0) {
    console.error(
      'generated code does not match proto/: run `node scripts/generate-proto.ts` and commit the result',
    );
    process.exitCode = 1;
  }
} else {
  rmSync(generated, { recursive: true, force: true });
  for (const [name, text] of fresh) {
    mkdirSync(dirname(join(generated, name)), { recursive: true });
    writeFileSync(join(generated, name), text);
  }
}
