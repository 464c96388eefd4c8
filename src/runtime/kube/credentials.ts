// The client's current credentials: token and certificate for the next request. Files are read again when they may have
// changed, plugins run again when their result has expired. Nothing of it may appear in a message.

import { readFile as readFileFromDisk } from 'node:fs/promises';
import type { Clock } from '../ports.ts';
import { type ExecCredential, type RunCommand, runExecPlugin } from './exec-credential.ts';
import { type KubeConfig, KubeConfigError, type Material } from './kube-config.ts';

export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface Credentials {
  /** The same object as before when nothing changed. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** The same object as before when nothing changed: a new one means new connections. */
  readonly tls: TlsMaterial;
}

/** Kubelets renew mounted tokens long before they expire; a minute is what client-go allows too. */
const FILE_CACHE_MS = 60_000;

export class CredentialSource {
  readonly #config: KubeConfig;
  readonly #clock: Clock;
  readonly #readFile: (path: string) => Promise<string>;
  readonly #runCommand: RunCommand | undefined;
  readonly #files = new Map<string, { content: string; readMs: number }>();
  #exec: ExecCredential | undefined;
  #running: Promise<ExecCredential> | undefined;
  #tls: TlsMaterial = {};
  #token: string | undefined;
  #headers: Credentials['headers'] | undefined;
  /** Where nothing can change: what it is. */
  #constant: Promise<Credentials> | undefined;

  constructor(options: {
    config: KubeConfig;
    clock: Clock;
    readFile?: (path: string) => Promise<string>;
    runCommand?: RunCommand;
  }) {
    this.#config = options.config;
    this.#clock = options.clock;
    this.#readFile = options.readFile ?? ((path) => readFileFromDisk(path, 'utf8'));
    this.#runCommand = options.runCommand;
  }

  current(): Promise<Credentials> {
    if (this.#constant !== undefined) return this.#constant;
    const { auth, tls } = this.#config;
    const materials = [auth.token, tls.ca, auth.clientCertificate?.certificate, auth.clientCertificate?.key];
    const isConstant = auth.exec === undefined && materials.every((each) => each?.kind !== 'file');
    const current = this.#gather();
    if (isConstant) this.#constant = current;
    return current;
  }

  async #gather(): Promise<Credentials> {
    const { auth, tls } = this.#config;
    const exec = auth.exec === undefined ? undefined : await this.#fromPlugin();
    const token = exec?.token ?? (await this.#read(auth.token))?.trim();
    const material: TlsMaterial = {
      ...optional('ca', await this.#read(tls.ca)),
      ...optional('cert', exec?.certificate ?? (await this.#read(auth.clientCertificate?.certificate))),
      ...optional('key', exec?.key ?? (await this.#read(auth.clientCertificate?.key))),
    };
    if (!sameTls(material, this.#tls)) this.#tls = material;
    if (this.#headers === undefined || token !== this.#token) {
      this.#token = token;
      this.#headers = { ...(token ? { authorization: `Bearer ${token}` } : {}), ...this.#impersonation() };
    }
    return { headers: this.#headers, tls: this.#tls };
  }

  /** The server rejected what `current` returned. True when the next call may return something else. */
  refused(): boolean {
    const { auth } = this.#config;
    this.#files.clear();
    this.#exec = undefined;
    return auth.exec !== undefined || auth.token?.kind === 'file';
  }

  async #read(material: Material | undefined): Promise<string | undefined> {
    if (material === undefined) return undefined;
    if (material.kind === 'inline') return material.value.reveal();
    const known = this.#files.get(material.path);
    if (known !== undefined && this.#clock.monotonicMs() - known.readMs < FILE_CACHE_MS) return known.content;
    try {
      const content = await this.#readFile(material.path);
      this.#files.set(material.path, { content, readMs: this.#clock.monotonicMs() });
      return content;
    } catch (error) {
      const reason = (error as Error).message;
      throw new KubeConfigError(`cannot read ${material.path}, named by ${material.field}: ${reason}`);
    }
  }

  async #fromPlugin(): Promise<ExecCredential> {
    const known = this.#exec;
    if (known !== undefined && (known.expiresMs === undefined || this.#clock.now() < known.expiresMs)) {
      return known;
    }
    // Requests that come while the plugin runs share its one run.
    this.#running ??= this.#runPlugin().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #runPlugin(): Promise<ExecCredential> {
    const { auth, source } = this.#config;
    if (auth.exec === undefined) return {};
    const credential = await runExecPlugin(auth.exec, {
      source,
      ...(this.#runCommand === undefined ? {} : { runCommand: this.#runCommand }),
    });
    this.#exec = credential;
    return credential;
  }

  #impersonation(): Record<string, string | string[]> {
    const as = this.#config.auth.impersonate;
    if (as === undefined) return {};
    const headers: Record<string, string | string[]> = { 'impersonate-user': as.user };
    if (as.uid) headers['impersonate-uid'] = as.uid;
    if (as.groups.length > 0) headers['impersonate-group'] = [...as.groups];
    for (const [key, values] of Object.entries(as.extra)) {
      headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = [...values];
    }
    return headers;
  }
}

function optional(name: keyof TlsMaterial, value: string | undefined): TlsMaterial {
  return value === undefined ? {} : { [name]: value };
}

function sameTls(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}
