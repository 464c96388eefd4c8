// Parses the type declarations of Kubernetes' built-in kinds: a regular subset of TypeScript (interfaces with a doc
// comment before each field, aliases, imports). Pure.

export interface FieldDeclaration {
  readonly name: string;
  readonly optional: boolean;
  /** As written: `string`, `Array<X>`, `Record<X>` for a map, `number | string`, `"v1"`. */
  readonly type: string;
  readonly description: string;
}

export interface TypeDeclaration {
  readonly name: string;
  description: string;
  readonly fields: Map<string, FieldDeclaration>;
  /** The target of an alias. */
  readonly alias?: string;
}

export interface Declarations {
  /** Imported name → module as written, relative to the importing one. */
  readonly imports: Map<string, string>;
  readonly types: Map<string, TypeDeclaration>;
}

const IMPORT = /^import \{ (.+) \} from "(.+)";$/;
const INTERFACE = /^export interface (\w+) \{$/;
const ALIAS = /^export type (\w+) = (.+);$/;
const FIELD = /^ {4}(?:readonly )?"?([^\s":?]+)"?(\?)?: (.+)$/;
const MAP_VALUE = /^ {8}\[name: string\]: (.+);$/;

/** Interfaces declared twice are merged, as in TypeScript: later texts add fields to earlier ones. */
export function parseDeclarations(text: string, into: Declarations = emptyDeclarations()): Declarations {
  let description = '';
  let current: TypeDeclaration | undefined;
  let map: { name: string; optional: boolean; description: string } | undefined;
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (/^\s*\/\*\*/.test(line)) {
      const start = at;
      while (!lines[at]?.includes('*/') && at < lines.length - 1) at++;
      description = commentText(lines.slice(start, at + 1));
      continue;
    }
    if (map && current) {
      const type = MAP_VALUE.exec(line)?.[1];
      if (type) current.fields.set(map.name, { ...map, type: `Record<${type}>` });
      else map = undefined;
      continue;
    }
    const field = current && FIELD.exec(line);
    if (field && current) {
      const [, name = '', question, type = ''] = field;
      const declared = { name, optional: question === '?', description };
      if (type === '{') map = declared;
      else current.fields.set(name, { ...declared, type: type.replace(/;$/, '') });
    } else if (line.startsWith('}')) {
      current = undefined;
    } else {
      current = parseTopLevel(line, description, into) ?? current;
    }
    description = '';
  }
  return into;
}

function emptyDeclarations(): Declarations {
  return { imports: new Map(), types: new Map() };
}

function parseTopLevel(line: string, description: string, into: Declarations): TypeDeclaration | undefined {
  const imported = IMPORT.exec(line);
  if (imported) {
    for (const name of imported[1]?.split(', ') ?? []) into.imports.set(name, imported[2] ?? '');
    return undefined;
  }
  const alias = ALIAS.exec(line);
  if (alias) {
    const [, name = '', target = ''] = alias;
    into.types.set(name, { name, description, fields: new Map(), alias: target });
    return undefined;
  }
  const name = INTERFACE.exec(line)?.[1];
  if (!name) return undefined;
  const declared = into.types.get(name) ?? { name, description, fields: new Map() };
  into.types.set(name, declared);
  return declared;
}

function commentText(lines: string[]): string {
  return lines
    .map((line) =>
      line
        .replace(/^\s*\/\*\*/, '')
        .replace(/\*\/\s*$/, '')
        .replace(/^\s*\* ?/, '')
        .trimEnd(),
    )
    .join('\n')
    .trim();
}
