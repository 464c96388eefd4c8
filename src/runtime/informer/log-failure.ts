// What an informer's log says when it cannot follow the server.

import { isForbidden } from '../kube/kube-error.ts';
import type { Log } from '../ports.ts';

export function logAbsent(log: Log, error: unknown): void {
  const next = 'looking again from time to time';
  if (isForbidden(error))
    log.warn(`the kind may not be read and counts as not installed; ${next}`, { error });
  else log.info(`the kind is not installed; ${next}`);
}

export function logFailure(log: Log, error: unknown, then: 'list' | 'watch'): void {
  const next = then === 'list' ? 'listing again' : 'resuming the watch';
  if (isForbidden(error))
    log.warn(`the account may not read the kind, deploy/rbac has the roles; ${next}`, { error });
  else if (then === 'list') log.warn(`lost track of the server; ${next}`, { error });
  else log.v(2).info(`the watch broke off; ${next}`, { error });
}
