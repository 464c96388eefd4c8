// Reads YAML as tools write kubeconfigs: maps and lists in block style, one scalar a line, or JSON. Leaves everything else
// to a whole parser, which costs 15 MB to load: what this one reads, it reads as that one would. Pure.

type Line = { readonly indent: number; readonly text: string };

/** Not what the caller wanted to hear of: it goes to the whole parser. */
class NotPlain extends Error {}

const KEY = /^([A-Za-z][\w.-]*):(?: +(.*))?$/;
/** Letters first, or a path, or a flag: nothing that could be a number, a date or an indicator. */
const PLAIN = /^(?:[A-Za-z/_]|--?[A-Za-z])[^\s]*(?: [^\s#][^\s]*)*$/;
const SPECIAL = /^(?:null|true|false|y|n|yes|no|on|off)$/i;
const CONSTANTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** The document, or undefined when it is not as plain as this. */
export function plainYaml(content: string): { readonly value: unknown } | undefined {
  if (content.trimStart().startsWith('{')) return json(content);
  // Printable ASCII and line ends: no tabs, no marks of byte order, no other kinds of line end.
  if (/[^\x20-\x7e\r\n]|\r(?!\n)/.test(content)) return undefined;
  const lines: Line[] = [];
  for (const [index, raw] of content.split(/\r?\n/).entries()) {
    const text = raw.trim();
    if (text === '' || text.startsWith('#') || (text === '---' && index === 0)) continue;
    lines.push({ indent: raw.length - raw.trimStart().length, text });
  }
  try {
    const reader = new BlockReader(lines);
    return { value: reader.document() };
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

function json(content: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(content) };
  } catch {
    return undefined;
  }
}

class BlockReader {
  readonly #lines: Line[];
  #at = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  document(): unknown {
    const first = this.#lines[0];
    if (first === undefined || first.indent !== 0) throw new NotPlain();
    const value = this.#block(0);
    if (this.#at < this.#lines.length) throw new NotPlain();
    return value;
  }

  #block(indent: number): unknown {
    return isItem(this.#lines[this.#at]?.text ?? '') ? this.#list(indent) : this.#map(indent);
  }

  #map(indent: number): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      const [, key, value] = KEY.exec(line.text) ?? [];
      if (key === undefined || SPECIAL.test(key) || Object.hasOwn(map, key)) throw new NotPlain();
      this.#at++;
      map[key] = value ? scalar(value) : this.#below(indent);
    }
    return map;
  }

  /** What belongs to a key without a value on its line. A list may stand as far left as the key. */
  #below(indent: number): unknown {
    const next = this.#lines[this.#at];
    if (next === undefined) return null;
    if (next.indent > indent) return this.#block(next.indent);
    return next.indent === indent && isItem(next.text) ? this.#list(indent) : null;
  }

  #list(indent: number): unknown[] {
    const list: unknown[] = [];
    for (
      let line = this.#lines[this.#at];
      line?.indent === indent && isItem(line.text);
      line = this.#lines[this.#at]
    ) {
      const text = line.text.slice(1).trimStart();
      if (text === '' || isItem(text)) throw new NotPlain();
      if (!KEY.test(text)) {
        this.#at++;
        list.push(scalar(text));
        continue;
      }
      // A map whose first key stands behind the dash: as if the dash were a space.
      const inner = indent + line.text.length - text.length;
      this.#lines[this.#at] = { indent: inner, text };
      list.push(this.#map(inner));
    }
    return list;
  }
}

function isItem(text: string): boolean {
  return text === '-' || text.startsWith('- ');
}

function scalar(text: string): unknown {
  if (text === '{}') return {};
  if (text === '[]') return [];
  if (CONSTANTS.has(text)) return CONSTANTS.get(text);
  if (/^"(?:[^"\\]|\\["\\nt])*"$/.test(text)) return JSON.parse(text);
  if (/^'[^']*'$/.test(text)) return text.slice(1, -1);
  if (!PLAIN.test(text) || SPECIAL.test(text) || /:(?: |$)/.test(text)) throw new NotPlain();
  return text;
}
