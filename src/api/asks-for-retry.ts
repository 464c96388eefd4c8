// Whether somebody asked for a retry at once, by a new value of an annotation. Pure.

import type { KubeObject } from './object.ts';
import { ANN_RETRY } from './well-known.ts';

/** The last request: an input of what failed, where a backoff is about inputs. */
export const retryOf = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[ANN_RETRY];

/** Not when the annotation goes, and not when it comes with another object of the name. */
export function asksForRetry(before: KubeObject, after: KubeObject): boolean {
  const asked = retryOf(after);
  return asked !== undefined && asked !== retryOf(before) && before.metadata.uid === after.metadata.uid;
}
