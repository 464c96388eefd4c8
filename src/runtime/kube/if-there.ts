// The answer about an object that may not exist: undefined when the server answers NotFound. For reads, and for writes
// and deletions that have nothing to do once the object is gone.

import { isNotFound } from './kube-error.ts';

export async function ifThere<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
