// Parses the text of /proc/self/mountinfo. Pure. Cheap for thousands of mounts: a lookup parses only the lines that
// contain the path.

import type { MountEntry } from './mounter.ts';

export function parseMountinfo(text: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of lines(text)) {
    const entry = parseMountinfoLine(line);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

function* lines(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf('\n', start);
    const stop = end === -1 ? text.length : end;
    if (stop > start) yield text.slice(start, stop);
    start = stop + 1;
  }
}

/**
 * `36 35 98:0 /root /mount/point rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue`: six fixed fields, any number
 * of optional ones, a lone dash, three more. Undefined for a truncated line.
 */
function parseMountinfoLine(line: string): MountEntry | undefined {
  const fields = line.split(' ');
  const dash = fields.indexOf('-', 6);
  const [id, parentId, device, root, mountPoint, options] = fields;
  if (dash === -1 || fields.length < dash + 4) return undefined;
  if (!id || !parentId || !device || !root || !mountPoint || !options) return undefined;
  return {
    id: Number(id),
    parentId: Number(parentId),
    device,
    root: unescapeMountPath(root),
    mountPoint: unescapeMountPath(mountPoint),
    options: options.split(','),
    optionalFields: fields.slice(6, dash),
    fsType: unescapeMountPath(fields[dash + 1] ?? ''),
    source: unescapeMountPath(fields[dash + 2] ?? ''),
    superOptions: (fields[dash + 3] ?? '').split(',').map(unescapeMountPath),
  };
}

/** The entries whose mount point is exactly `path`, in table order: the last one is visible. */
export function findMountinfo(text: string, path: string): MountEntry[] {
  const needle = ` ${escapeMountPath(path)} `;
  const found: MountEntry[] = [];
  for (let at = text.indexOf(needle); at !== -1; ) {
    const start = text.lastIndexOf('\n', at) + 1;
    const end = text.indexOf('\n', at);
    const stop = end === -1 ? text.length : end;
    const entry = parseMountinfoLine(text.slice(start, stop));
    if (entry?.mountPoint === path) found.push(entry);
    at = text.indexOf(needle, stop);
  }
  return found;
}

/** The kernel writes space, tab, newline and backslash (in sources also `#`) as a backslash and three octal digits. */
export function unescapeMountPath(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

export function escapeMountPath(path: string): string {
  return path.replace(
    /[ \t\n\\]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
}
