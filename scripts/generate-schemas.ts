// Generates src/apiserver/builtin-schema/generated/schemas.json: the schemas of every built-in kind and of the
// types that they refer to, one per line. With --check it writes nothing, and fails when the file is stale.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { builtinKinds } from '../src/apiserver/kinds/index.ts';
import { buildSchemas } from './schemas/build-schemas.ts';
import { projectRoot } from './source-files.ts';

const file = join(projectRoot, 'src/apiserver/builtin-schema/generated/schemas.json');
/** Types that the server looks up by name, beside its kinds. */
const OTHERS = ['meta/v1.ListMeta', 'meta/v1.ObjectMeta'];

const roots = builtinKinds.map(({ group, version, kind }) => {
  const module = `${group === '' ? 'core' : group.split('.', 1)[0]}/${version}`;
  return `${module}.${kind}`;
});
const schemas = [...buildSchemas([...new Set([...roots, ...OTHERS])])].sort(([a], [b]) => (a < b ? -1 : 1));
const lines = schemas.map(([name, schema]) => `${JSON.stringify(name)}:${JSON.stringify(schema)}`);
const text = `{\n${lines.join(',\n')}\n}\n`;

if (!process.argv.includes('--check')) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
} else if (readFileSync(file, 'utf8') !== text) {
  console.error('schemas.json is stale: run `node scripts/generate-schemas.ts` and commit the result');
  process.exitCode = 1;
}
