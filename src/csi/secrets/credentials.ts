// Reads the Secret behind a reference for one CSI call: all of its entries, as text. What is wrong is said by naming
// the Secret and the key, never the value. Shared by all who call drivers.

import { secrets } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../../runtime/kube/kube-error.ts';
import { secretValue } from '../../runtime/log/secret-value.ts';
import type { SecretValue } from '../../runtime/ports.ts';

export type CsiSecrets = SecretValue<Record<string, string>>;

/** The Secret cannot be used; the message says which and why, and is fit for events and statuses. */
export class SecretError extends Error {
  override readonly name = 'SecretError';
  /** It is not there, as opposed to being unreadable. */
  readonly missing: boolean;

  constructor(message: string, options: { cause?: unknown; missing?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.missing = options.missing ?? false;
  }
}

export async function readSecret(
  kube: Pick<KubeClient, 'get'>,
  reference: { name?: string | undefined; namespace?: string | undefined },
  options: { signal?: AbortSignal } = {},
): Promise<CsiSecrets> {
  const { name = '', namespace = '' } = reference;
  if (name === '' || namespace === '') {
    throw new SecretError(
      `a secret reference needs both a name and a namespace, this one has name "${name}" and namespace "${namespace}"`,
    );
  }
  const label = `${namespace}/${name}`;
  let data: Record<string, string> | undefined;
  try {
    data = (await kube.get(secrets, { name, namespace }, options)).data;
  } catch (error) {
    if (isNotFound(error)) {
      throw new SecretError(`secret ${label} does not exist`, { cause: error, missing: true });
    }
    if (isForbidden(error)) {
      throw new SecretError(
        `secret ${label} may not be read with this account; allow it to get secrets there, see deploy/rbac`,
        { cause: error },
      );
    }
    throw error;
  }
  return secretValue(textEntries(data ?? {}, label));
}

function textEntries(data: Readonly<Record<string, string>>, label: string): Record<string, string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return Object.fromEntries(
    Object.entries(data).map(([key, base64]) => {
      try {
        return [key, decoder.decode(Buffer.from(base64, 'base64'))];
      } catch {
        // Without the cause: it may quote the bytes.
        throw new SecretError(
          `secret ${label}: the value of key "${key}" is not UTF-8 text, and CSI takes only text`,
        );
      }
    }),
  );
}
