// How to reach one API server and as whom, once every file that says so has been read. Loading is in
// load-kube-config.ts; turning it into headers and certificates is in credentials.ts.

import type { SecretValue } from '../ports.ts';

export interface KubeConfig {
  /** `https://host:port`, with a path when the server lives below one. */
  readonly server: string;
  /** Where this comes from, for error messages: a file and its context, or the in-cluster account. */
  readonly source: string;
  /** The context's default namespace. */
  readonly namespace?: string;
  readonly tls: TlsConfig;
  readonly auth: AuthConfig;
}

export interface TlsConfig {
  /** PEM. */
  readonly ca?: Material;
  /** Expected in the server's certificate instead of the host. */
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
}

/** Text that is given, or in a file that is read again when it may have changed. `field` is for error messages. */
export type Material = { readonly field: string } & (
  | { readonly kind: 'inline'; readonly value: SecretValue<string> }
  | { readonly kind: 'file'; readonly path: string }
);

export interface AuthConfig {
  readonly token?: Material;
  readonly clientCertificate?: { readonly certificate: Material; readonly key: Material };
  readonly exec?: ExecConfig;
  readonly impersonate?: {
    readonly user: string;
    readonly uid?: string;
    readonly groups: readonly string[];
    readonly extra: Readonly<Record<string, readonly string[]>>;
  };
}

/** A credential plugin, as kubeconfig's `users[].user.exec`. */
export interface ExecConfig {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string;
  /** Given to the plugin in KUBERNETES_EXEC_INFO when it asks for it. */
  readonly cluster?: Readonly<Record<string, unknown>>;
}

/** A configuration that cannot be used; `message` names the file, the field and what to do. */
export class KubeConfigError extends Error {
  override readonly name = 'KubeConfigError';
  /** There is none at all. */
  readonly isAbsent: boolean;

  constructor(message: string, options: ErrorOptions & { isAbsent?: boolean } = {}) {
    super(message, options);
    this.isAbsent = options.isAbsent ?? false;
  }
}
