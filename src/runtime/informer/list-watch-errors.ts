// What the failure of a list or a watch says about the server, as far as the informer's next attempt depends on it.

import { KubeError } from '../kube/kube-error.ts';

/** The server does not know `sendInitialEvents`. */
export function refusesStreaming(error: unknown): boolean {
  return error instanceof KubeError && (error.code === 400 || error.code === 422 || error.code === 405);
}

/**
 * kube-apiserver answers 500 when its etcd is too old to report the progress of a watch, and on passing trouble too. A list
 * in pages works at once in the first case and is as good a next attempt in the second.
 */
export function failedAtStreaming(error: unknown): boolean {
  return error instanceof KubeError && error.code === 500;
}

/** The server understood and said no to this very watch: asking the same again cannot help, a new list may. */
export function isRejection(error: unknown): boolean {
  return (
    error instanceof KubeError &&
    error.code >= 400 &&
    error.code < 500 &&
    ![401, 403, 408, 429].includes(error.code)
  );
}
