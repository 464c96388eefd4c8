// Converts one YAML document to JSON, in time linear in its length, and back. The library's own search for duplicate
// keys is quadratic, so keys are checked here.

import { isAlias, isMap, isScalar, LineCounter, parseDocument, stringify, visit } from 'yaml';
import { type YamlAsJson, YamlError } from './yaml-error.ts';

/** More aliases than any real manifest has; each may expand to a large value. */
const MAX_ALIASES = 100;
const MAX_REPORTED = 100;

export function toJson(text: string, maxDepth: number): YamlAsJson {
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, lineCounter: lines });
    const [error] = document.errors;
    if (error !== undefined)
      throw new YamlError(`line ${lines.linePos(error.pos[0]).line}: ${error.message}`);
    const duplicates: string[] = [];
    let aliases = 0;
    visit(document, {
      Node(_, node, path) {
        if (path.length > 2 * maxDepth + 2)
          throw new YamlError(`it is nested deeper than ${maxDepth} levels`);
        if (isAlias(node) && ++aliases > MAX_ALIASES) {
          throw new YamlError(`it has more than ${MAX_ALIASES} aliases`);
        }
        if (!isMap(node)) return;
        const seen = new Set<string>();
        for (const { key } of node.items) {
          if (!isScalar(key)) continue;
          const name = String(key.value);
          if (seen.has(name) && duplicates.length < MAX_REPORTED) {
            const { line } = lines.linePos(key.range?.[0] ?? 0);
            duplicates.push(`line ${line}: key ${JSON.stringify(name)} already set in map`);
          }
          seen.add(name);
        }
      },
    });
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { json: JSON.stringify(value) ?? 'null', duplicates };
  } catch (error) {
    if (error instanceof YamlError) throw error;
    // Nested too deep for the library, or aliases that expand into too much.
    throw new YamlError((error as Error).message, { cause: error });
  }
}

export function toYaml(json: string): string {
  return stringify(JSON.parse(json));
}
