// Writes the tar format (ustar). Pure.

export interface TarFile {
  /** Without a leading or trailing slash. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink';
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly data?: Buffer;
  /** Of a link. */
  readonly target?: string;
}

export const BLOCK = 512;
export const LONGEST_NAME = 100;
export const LONGEST_PREFIX = 155;
export const FLAGS = { file: '0', hardlink: '1', symlink: '2', directory: '5' } as const;

/** The same files and time give the same bytes. */
export function writeTar(files: Iterable<TarFile>, mtimeSeconds: number): Buffer {
  const parts: Buffer[] = [];
  for (const file of files) {
    const { data = Buffer.alloc(0) } = file;
    parts.push(header(file, mtimeSeconds), data, padding(data.length));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function header(file: TarFile, mtimeSeconds: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  };
  const [prefix, name] = split(file.type === 'directory' ? `${file.path}/` : file.path);
  const target = file.target ?? '';
  if (Buffer.byteLength(target) > LONGEST_NAME)
    throw new Error(`${file.path}: the link's target is too long`);
  block.write(name, 0);
  octal(file.mode, 100, 8);
  octal(file.uid ?? 0, 108, 8);
  octal(file.gid ?? 0, 116, 8);
  octal(file.data?.length ?? 0, 124, 12);
  octal(mtimeSeconds, 136, 12);
  block.write(' '.repeat(8), 148);
  block.write(FLAGS[file.type], 156);
  block.write(target, 157);
  block.write('ustar\x0000', 257, 'latin1');
  block.write(prefix, 345);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}

/** A long path is split at a slash into prefix and name. */
function split(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= LONGEST_NAME) return ['', path];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(prefix) > LONGEST_PREFIX) break;
    if (name !== '' && Buffer.byteLength(name) <= LONGEST_NAME) return [prefix, name];
  }
  throw new Error(`${path}: the path is too long for a tar file`);
}

const padding = (length: number): Buffer => Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
