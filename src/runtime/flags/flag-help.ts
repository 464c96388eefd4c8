// Renders a flag table as help text: grouped, wrapped, with defaults, and with what is deprecated or without effect.
import type { Flag, FlagTable } from './flag.ts';
import { dashed } from './parse-flags.ts';

const WIDTH = 100;
const INDENT = '      ';

/** Ends with a newline. Groups come in the order of their first flag; the nameless one is called "Flags". */
export function flagHelp(table: FlagTable): string {
  const groups = new Map<string, string[]>();
  for (const [name, flag] of Object.entries(table)) {
    if (flag.hidden) continue;
    const heading = flag.group === '' ? 'Flags' : flag.group;
    groups.set(heading, [...(groups.get(heading) ?? []), entry(name, flag)]);
  }
  return [...groups].map(([heading, entries]) => `${heading}:\n${entries.join('')}`).join('\n');
}

function entry(name: string, flag: Flag<unknown>): string {
  const usage = flag.isBoolean ? dashed(name) : `${dashed(name)} ${flag.type}`;
  const remarks = [standing(flag), flag.env === undefined ? '' : `environment: ${flag.env}`].filter(Boolean);
  const text = remarks.length === 0 ? flag.help : `${flag.help} (${remarks.join('; ')})`;
  const lines = [text];
  if (flag.deprecated !== undefined) lines.push(`Deprecated: ${flag.deprecated}`);
  if (flag.ignored !== undefined) lines.push(`No effect: ${flag.ignored}`);
  return `  ${usage}\n${lines.flatMap((line) => line.split('\n').flatMap(wrap)).join('')}`;
}

function standing(flag: Flag<unknown>): string {
  if (flag.required) return 'required';
  if (flag.ignored !== undefined || flag.default === undefined) return '';
  const text = flag.format(flag.default);
  if (text === '' || (flag.isBoolean && text === 'false')) return '';
  return `default ${flag.type === 'string' ? JSON.stringify(text) : text}`;
}

function wrap(line: string): string[] {
  const wrapped: string[] = [];
  let current = '';
  for (const word of line.split(' ')) {
    if (current !== '' && INDENT.length + current.length + 1 + word.length > WIDTH) {
      wrapped.push(current);
      current = word;
    } else {
      current = current === '' ? word : `${current} ${word}`;
    }
  }
  return [...wrapped, current].map((text) => `${INDENT}${text}\n`);
}
