// Reads manifests: YAML or JSON, several documents in a file, a directory of files, standard input, Lists. Errors
// name file, line and problem. Nothing is sent before all documents are parsed.

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeObject } from '../../api/object.ts';
import { UsageError } from '../command.ts';

export interface Manifest {
  /** `file.yaml:12`, for messages. */
  origin: string;
  object: KubeObject;
}

export async function readManifests(
  path: string,
  stdin: AsyncIterable<Buffer | string>,
): Promise<Manifest[]> {
  if (path === '-') return parseManifests(await readAll(stdin), 'standard input');
  const files = await filesOf(path);
  const read = await Promise.all(files.map(async (file) => parseManifests(await readText(file), file)));
  const manifests = read.flat();
  if (manifests.length === 0) throw new UsageError(`${path} contains no manifest`);
  return manifests;
}

async function filesOf(path: string): Promise<string[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `cannot read ${path}: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
    );
  });
  if (!found.isDirectory()) return [path];
  const names = await readdir(path);
  return names
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  });
}

async function readAll(input: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

async function parseManifests(text: string, file: string): Promise<Manifest[]> {
  const { LineCounter, parseAllDocuments } = await import('yaml');
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error) throw new UsageError(`${file}: ${error.message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    const origin = `${file}:${lines.linePos(document.range[0]).line}`;
    return objectsOf(value, origin).map((object) => ({ origin, object }));
  });
}

function objectsOf(value: unknown, origin: string): KubeObject[] {
  const candidate = value as Partial<KubeObject> & { items?: unknown[] };
  if (
    typeof value !== 'object' ||
    typeof candidate.kind !== 'string' ||
    typeof candidate.apiVersion !== 'string'
  ) {
    throw new UsageError(`${origin}: not a Kubernetes object: apiVersion and kind are missing`);
  }
  if (candidate.kind.endsWith('List') && Array.isArray(candidate.items)) {
    return candidate.items.flatMap((item) => objectsOf(item, origin));
  }
  if (typeof candidate.metadata?.name !== 'string') {
    throw new UsageError(`${origin}: ${candidate.kind} has no metadata.name`);
  }
  return [candidate as KubeObject];
}
