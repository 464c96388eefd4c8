// Runs a credential plugin and reads the ExecCredential it prints. Without a terminal: a plugin that must ask its user
// something is refused. Its output is secret and never quoted; what it says on stderr is its own error message and is.

import { type ExecConfig, KubeConfigError } from './kube-config.ts';

export interface ExecCredential {
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
  /** Wall clock; absent: good until refused. */
  readonly expiresMs?: number;
}

export type RunCommand = (
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
) => Promise<string>;

/** Plugins that log in over the network take seconds; one that takes minutes is waiting for somebody. */
const PLUGIN_TIMEOUT_MS = 60_000;

export async function runExecPlugin(
  exec: ExecConfig,
  options: { source: string; runCommand?: RunCommand },
): Promise<ExecCredential> {
  const { runCommand = run } = options;
  const what = `credential plugin ${exec.command}, named by ${options.source}`;
  const info = {
    apiVersion: exec.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(exec.cluster === undefined ? {} : { cluster: exec.cluster }) },
  };
  let output: string;
  try {
    output = await runCommand(exec.command, exec.args, {
      ...exec.env,
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    });
  } catch (error) {
    throw new KubeConfigError(`${what}, ${failure(error)}${hint(exec, error)}`);
  }
  return read(output, exec, what);
}

function read(output: string, exec: ExecConfig, what: string): ExecCredential {
  const answer = parse(output);
  if (answer === undefined || answer.kind !== 'ExecCredential') {
    throw new KubeConfigError(`${what}, did not print an ExecCredential`);
  }
  if (answer.apiVersion !== exec.apiVersion) {
    throw new KubeConfigError(
      `${what}, answered in ${String(answer.apiVersion)}, but the kubeconfig asks for ${exec.apiVersion}`,
    );
  }
  const status = answer.status ?? {};
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status;
  if (!token && !clientCertificateData) {
    throw new KubeConfigError(`${what}, gave neither a token nor a client certificate`);
  }
  if (!clientCertificateData !== !clientKeyData) {
    throw new KubeConfigError(`${what}, gave only one of clientCertificateData and clientKeyData`);
  }
  const expiresMs = expirationTimestamp ? Date.parse(expirationTimestamp) : undefined;
  if (Number.isNaN(expiresMs))
    throw new KubeConfigError(`${what}, gave an expirationTimestamp that is not a timestamp`);
  return {
    ...(token ? { token } : {}),
    ...(clientCertificateData ? { certificate: clientCertificateData } : {}),
    ...(clientKeyData ? { key: clientKeyData } : {}),
    ...(expiresMs === undefined ? {} : { expiresMs }),
  };
}

interface ExecAnswer {
  apiVersion?: unknown;
  kind?: unknown;
  status?: {
    token?: string;
    clientCertificateData?: string;
    clientKeyData?: string;
    expirationTimestamp?: string;
  };
}

function parse(output: string): ExecAnswer | undefined {
  try {
    return JSON.parse(output) as ExecAnswer;
  } catch {
    return undefined;
  }
}

function failure(error: unknown): string {
  const { code, stderr, killed } = error as { code?: unknown; stderr?: string; killed?: boolean };
  if (code === 'ENOENT') return 'was not found';
  if (code === 'EACCES') return 'is not executable';
  if (killed) return `did not end within ${PLUGIN_TIMEOUT_MS / 1000} s`;
  const said = (stderr ?? '').trim().slice(0, 500);
  return `failed with exit code ${String(code)}${said === '' ? '' : `: ${said}`}`;
}

function hint(exec: ExecConfig, error: unknown): string {
  const missing = (error as { code?: unknown }).code === 'ENOENT';
  return missing && exec.installHint ? `. ${exec.installHint}` : '';
}

const run: RunCommand = async (command, args, env) => {
  // Few kubeconfigs name a plugin.
  const { execFile } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      [...args],
      {
        // The plugin inherits the environment of this process, as kubectl's do: HOME, PATH, proxies.
        env: { ...process.env, ...env },
        timeout: PLUGIN_TIMEOUT_MS,
        maxBuffer: 1 << 20,
      },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(Object.assign(error, { stderr }));
      },
    );
    child.stdin?.end();
  });
};
