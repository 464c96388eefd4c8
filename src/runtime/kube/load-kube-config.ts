// Finds and reads a kubeconfig as kubectl does: KUBECONFIG may list several files, the first that names a cluster,
// user, context or current-context wins. Also decides between a file and the in-cluster account. Reads files only;
// never contacts a server and never runs a credential plugin.

import { readFile as readFileFromDisk } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { loadInClusterConfig, SERVICE_ACCOUNT_DIRECTORY } from './in-cluster-config.ts';
import { type KubeConfig, KubeConfigError } from './kube-config.ts';
import { clusterOf, type Entry, isRecord, text, userOf } from './kube-config-entries.ts';

export interface LoadKubeConfigOptions {
  /** `--kubeconfig`: this file alone. */
  path?: string;
  /** Instead of the file's current-context. */
  context?: string;
  env: Readonly<Record<string, string | undefined>>;
  readFile?: (path: string) => Promise<string>;
  home?: string;
  serviceAccountDirectory?: string;
}

interface Merged {
  readonly files: string[];
  readonly clusters: Map<string, Entry>;
  readonly users: Map<string, Entry>;
  readonly contexts: Map<string, Entry>;
  currentContext?: string;
}

/** `--kubeconfig`, else the in-cluster account, else KUBECONFIG, else ~/.kube/config. */
export async function loadKubeConfig(options: LoadKubeConfigOptions): Promise<KubeConfig> {
  const { env, readFile = readUtf8 } = options;
  if (options.path) return fromFiles([options.path], { required: true, ...options, readFile });
  const directory = options.serviceAccountDirectory ?? SERVICE_ACCOUNT_DIRECTORY;
  const inCluster = await loadInClusterConfig({ env, readFile, directory });
  if (inCluster !== undefined) return inCluster;
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  if (listed.length > 0) return fromFiles(listed, { required: false, ...options, readFile });
  const home = options.home ?? env.HOME ?? homedir();
  return fromFiles([join(home, '.kube', 'config')], { required: false, ...options, readFile });
}

async function fromFiles(
  paths: readonly string[],
  options: { required: boolean; context?: string; readFile: (path: string) => Promise<string> },
): Promise<KubeConfig> {
  const merged: Merged = { files: [], clusters: new Map(), users: new Map(), contexts: new Map() };
  for (const path of paths) await mergeFile(merged, resolve(path), options);
  const where = paths.join(delimiter);
  if (merged.files.length === 0) {
    throw new KubeConfigError(
      `no Kubernetes configuration: ${where} does not exist, and this is not a pod with a service account. ` +
        'Give --kubeconfig, or set KUBECONFIG',
      { isAbsent: true },
    );
  }
  return select(merged, options.context, where);
}

function select(merged: Merged, wanted: string | undefined, where: string): KubeConfig {
  const name = wanted ?? merged.currentContext;
  if (!name) {
    throw new KubeConfigError(`${where}: current-context is not set; set it, or choose one with --context`);
  }
  const context = merged.contexts.get(name);
  if (context === undefined) throw missing(where, 'context', name, merged.contexts);
  const at = `${context.file}: contexts[${name}]`;
  const clusterName = text(context.fields.cluster, `${at}.context.cluster`);
  if (clusterName === undefined) throw new KubeConfigError(`${at}.context.cluster is not set`);
  const cluster = merged.clusters.get(clusterName);
  if (cluster === undefined) throw missing(at, 'cluster', clusterName, merged.clusters);
  const userName = text(context.fields.user, `${at}.context.user`);
  const user = userName ? merged.users.get(userName) : undefined;
  if (userName && user === undefined) throw missing(at, 'user', userName, merged.users);
  const namespace = text(context.fields.namespace, `${at}.context.namespace`);
  const { server, tls, execInfo } = clusterOf(cluster);
  return {
    server,
    source: `${context.file} (context ${name})`,
    ...(namespace ? { namespace } : {}),
    tls,
    auth: user === undefined ? {} : userOf(user, execInfo),
  };
}

function missing(where: string, what: string, name: string, known: Map<string, Entry>): KubeConfigError {
  const names = [...known.keys()].join(', ') || 'none';
  return new KubeConfigError(`${where}: there is no ${what} "${name}" (there is: ${names})`);
}

async function mergeFile(
  merged: Merged,
  file: string,
  options: { required: boolean; readFile: (path: string) => Promise<string> },
): Promise<void> {
  let content: string;
  try {
    content = await options.readFile(file);
  } catch (error) {
    // kubectl skips files of KUBECONFIG that do not exist; a file named by a flag must.
    if (!options.required && (error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new KubeConfigError(`cannot read kubeconfig ${file}: ${(error as Error).message}`);
  }
  const document = await parse(content, file);
  merged.files.push(file);
  const current = text(document['current-context'], `${file}: current-context`);
  if (!merged.currentContext && current) merged.currentContext = current;
  addAll(merged.clusters, document, { list: 'clusters', field: 'cluster', file });
  addAll(merged.users, document, { list: 'users', field: 'user', file });
  addAll(merged.contexts, document, { list: 'contexts', field: 'context', file });
}

async function parse(content: string, file: string): Promise<Record<string, unknown>> {
  const value = await parseYaml(content, file);
  if (!isRecord(value)) throw new KubeConfigError(`${file}: not a kubeconfig (expected a map at the top)`);
  if (value.kind !== undefined && value.kind !== 'Config') {
    throw new KubeConfigError(`${file}: kind is ${JSON.stringify(value.kind)}, expected Config`);
  }
  return value;
}

async function parseYaml(content: string, file: string): Promise<unknown> {
  // In a pod there is no kubeconfig to read, and this is not loaded.
  const { parseDocument } = await import('yaml');
  const document = parseDocument(content, { prettyErrors: false });
  const [problem] = document.errors;
  if (problem !== undefined) {
    const line = content.slice(0, problem.pos[0]).split('\n').length;
    // The parser's own message may quote the line, and the line may hold a token.
    throw new KubeConfigError(`${file}: not valid YAML at line ${line} (${problem.code})`);
  }
  return document.toJS();
}

function addAll(
  into: Map<string, Entry>,
  document: Record<string, unknown>,
  { list, field, file }: { list: string; field: string; file: string },
): void {
  const entries = document[list] ?? [];
  if (!Array.isArray(entries)) throw new KubeConfigError(`${file}: ${list} is not a list`);
  for (const [index, entry] of entries.entries()) {
    if (!isRecord(entry) || typeof entry.name !== 'string') {
      throw new KubeConfigError(`${file}: ${list}[${index}].name is not set`);
    }
    const fields = entry[field] ?? {};
    if (!isRecord(fields)) throw new KubeConfigError(`${file}: ${list}[${entry.name}].${field} is not a map`);
    if (!into.has(entry.name)) into.set(entry.name, { name: entry.name, file, fields });
  }
}

function readUtf8(path: string): Promise<string> {
  return readFileFromDisk(path, 'utf8');
}
