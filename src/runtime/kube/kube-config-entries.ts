// Reads the cluster and user entries of a kubeconfig into what the client needs, and refuses by name what it does not
// support. Error messages name file and field, and never quote a value that may be secret.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { secretValue } from '../log/secret-value.ts';
import {
  type AuthConfig,
  type ExecConfig,
  KubeConfigError,
  type Material,
  type TlsConfig,
} from './kube-config.ts';

const EXEC_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/** An entry of a file's lists, with the file it came from: relative paths are relative to that file. */
export interface Entry {
  readonly name: string;
  readonly file: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export function clusterOf(entry: Entry): {
  server: string;
  tls: TlsConfig;
  execInfo: Record<string, unknown>;
} {
  const at = `${entry.file}: clusters[${entry.name}].cluster`;
  const { fields } = entry;
  const server = serverUrl(text(fields.server, `${at}.server`), at);
  if (text(fields['proxy-url'], `${at}.proxy-url`)) {
    throw new KubeConfigError(`${at}.proxy-url: proxies are not supported; reach the server directly`);
  }
  const insecureSkipVerify = flag(fields['insecure-skip-tls-verify'], `${at}.insecure-skip-tls-verify`);
  const serverName = text(fields['tls-server-name'], `${at}.tls-server-name`);
  const ca = material(entry, at, { data: 'certificate-authority-data', file: 'certificate-authority' });
  if (insecureSkipVerify && ca !== undefined) {
    throw new KubeConfigError(`${at}: certificate-authority and insecure-skip-tls-verify exclude each other`);
  }
  if (ca?.kind === 'inline') checkCertificate(ca);
  return {
    server,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(serverName ? { serverName } : {}),
      ...(insecureSkipVerify ? { insecureSkipVerify } : {}),
    },
    execInfo: {
      server,
      ...(serverName ? { 'tls-server-name': serverName } : {}),
      ...(insecureSkipVerify ? { 'insecure-skip-tls-verify': true } : {}),
      ...(ca?.kind === 'inline'
        ? { 'certificate-authority-data': Buffer.from(ca.value.reveal()).toString('base64') }
        : {}),
      ...execExtension(fields.extensions),
    },
  };
}

export function userOf(entry: Entry, execInfo: Record<string, unknown>): AuthConfig {
  const at = `${entry.file}: users[${entry.name}].user`;
  const { fields } = entry;
  if (fields.username !== undefined || fields.password !== undefined) {
    throw new KubeConfigError(
      `${at}.username: basic authentication was removed from Kubernetes; use a token, certificate or exec plugin`,
    );
  }
  if (fields['auth-provider'] !== undefined) {
    throw new KubeConfigError(
      `${at}.auth-provider: built-in providers were removed from Kubernetes; use the provider's exec plugin`,
    );
  }
  const clientCertificate = certificatePair(entry, at);
  const token = tokenOf(entry, at);
  const exec = fields.exec == null ? undefined : execOf(entry, `${at}.exec`, execInfo);
  const impersonate = impersonation(fields, at);
  return {
    ...(token === undefined ? {} : { token }),
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
    // As client-go: a token or certificate that is given makes the plugin superfluous.
    ...(exec === undefined || token !== undefined || clientCertificate !== undefined ? {} : { exec }),
    ...(impersonate === undefined ? {} : { impersonate }),
  };
}

function tokenOf(entry: Entry, at: string): Material | undefined {
  // As client-go: the file wins, because it may be renewed.
  const file = text(entry.fields.tokenFile, `${at}.tokenFile`);
  if (file) return { kind: 'file', field: `${at}.tokenFile`, path: relativeTo(entry.file, file) };
  const token = text(entry.fields.token, `${at}.token`);
  return token ? { kind: 'inline', field: `${at}.token`, value: secretValue(token) } : undefined;
}

function certificatePair(entry: Entry, at: string): AuthConfig['clientCertificate'] {
  const certificate = material(entry, at, { data: 'client-certificate-data', file: 'client-certificate' });
  const key = material(entry, at, { data: 'client-key-data', file: 'client-key' });
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined) throw new KubeConfigError(`${at}: client-key without client-certificate`);
  if (key === undefined) throw new KubeConfigError(`${at}: client-certificate without client-key`);
  if (certificate.kind === 'inline') checkCertificate(certificate);
  if (key.kind === 'inline') checkKey(key);
  return { certificate, key };
}

/** Data wins over a file, as in client-go. */
function material(entry: Entry, at: string, names: { data: string; file: string }): Material | undefined {
  const data = text(entry.fields[names.data], `${at}.${names.data}`);
  if (data) {
    const field = `${at}.${names.data}`;
    if (!/^[A-Za-z0-9+/=\s]*$/.test(data)) throw new KubeConfigError(`${field} is not base64`);
    return { kind: 'inline', field, value: secretValue(Buffer.from(data, 'base64').toString('utf8')) };
  }
  const path = text(entry.fields[names.file], `${at}.${names.file}`);
  if (!path) return undefined;
  return { kind: 'file', field: `${at}.${names.file}`, path: relativeTo(entry.file, path) };
}

function checkCertificate(given: Extract<Material, { kind: 'inline' }>): void {
  try {
    new X509Certificate(given.value.reveal());
  } catch {
    throw new KubeConfigError(`${given.field} holds no PEM certificate`);
  }
}

function checkKey(given: Extract<Material, { kind: 'inline' }>): void {
  try {
    createPrivateKey(given.value.reveal());
  } catch {
    throw new KubeConfigError(`${given.field} holds no PEM private key (encrypted keys are not supported)`);
  }
}

function execOf(entry: Entry, at: string, execInfo: Record<string, unknown>): ExecConfig {
  const exec = entry.fields.exec;
  if (!isRecord(exec)) throw new KubeConfigError(`${at} is not a map`);
  const apiVersion = EXEC_VERSIONS.find((version) => version === exec.apiVersion);
  if (apiVersion === undefined) {
    throw new KubeConfigError(`${at}.apiVersion must be ${EXEC_VERSIONS.join(' or ')}`);
  }
  const command = text(exec.command, `${at}.command`);
  if (!command) throw new KubeConfigError(`${at}.command is not set`);
  if (exec.interactiveMode === 'Always') {
    throw new KubeConfigError(
      `${at}.interactiveMode is Always: ${command} needs a terminal, and there is none`,
    );
  }
  const args = exec.args ?? [];
  if (!Array.isArray(args) || args.some((arg) => typeof arg !== 'string')) {
    throw new KubeConfigError(`${at}.args is not a list of strings`);
  }
  const hint = text(exec.installHint, `${at}.installHint`);
  return {
    apiVersion,
    // A command with a slash is relative to the kubeconfig; one without is looked up in PATH.
    command: command.includes('/') ? relativeTo(entry.file, command) : command,
    args,
    env: execEnv(exec.env ?? [], at),
    ...(hint ? { installHint: hint } : {}),
    ...(flag(exec.provideClusterInfo, `${at}.provideClusterInfo`) ? { cluster: execInfo } : {}),
  };
}

function execEnv(list: unknown, at: string): Record<string, string> {
  const env: Record<string, string> = {};
  if (!Array.isArray(list)) throw new KubeConfigError(`${at}.env is not a list`);
  for (const [index, entry] of list.entries()) {
    if (!isRecord(entry) || typeof entry.name !== 'string' || typeof entry.value !== 'string') {
      throw new KubeConfigError(`${at}.env[${index}] needs a name and a value`);
    }
    env[entry.name] = entry.value;
  }
  return env;
}

function execExtension(extensions: unknown): Record<string, unknown> {
  if (!Array.isArray(extensions)) return {};
  const found = extensions.find((entry) => isRecord(entry) && entry.name === EXEC_EXTENSION);
  return isRecord(found) ? { config: found.extension } : {};
}

function impersonation(fields: Entry['fields'], at: string): AuthConfig['impersonate'] {
  const user = text(fields.as, `${at}.as`);
  if (!user) return undefined;
  const uid = text(fields['as-uid'], `${at}.as-uid`);
  const groups = fields['as-groups'] ?? [];
  const extra = fields['as-user-extra'] ?? {};
  if (!isStrings(groups)) throw new KubeConfigError(`${at}.as-groups is not a list of strings`);
  if (!isRecord(extra) || !Object.values(extra).every(isStrings)) {
    throw new KubeConfigError(`${at}.as-user-extra is not a map of lists of strings`);
  }
  return { user, ...(uid ? { uid } : {}), groups, extra: extra as Record<string, string[]> };
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function serverUrl(server: string | undefined, at: string): string {
  if (!server) throw new KubeConfigError(`${at}.server is not set`);
  const withScheme = server.includes('://') ? server : `https://${server}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new KubeConfigError(`${at}.server is not an http or https URL: ${server}`);
  }
  if (url.username || url.password) {
    throw new KubeConfigError(`${at}.server must not hold a user or password`);
  }
  return withScheme.replace(/\/+$/, '');
}

function flag(value: unknown, where: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw new KubeConfigError(`${where} is neither true nor false`);
  return value;
}

export function text(value: unknown, where: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new KubeConfigError(`${where} is not a string`);
  return value;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function relativeTo(file: string, path: string): string {
  return resolve(dirname(file), path);
}
