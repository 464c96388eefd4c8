// A driver connection whose calls are recorded in the trace: request, duration, result.

import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { observedConnection } from '../csi/client/observed-connection.ts';
import { CsiError } from '../csi/csi-error.ts';
import { isAboutVolume, shownOf } from './about-call.ts';
import type { TraceBook } from './trace-book.ts';

/** Not recorded: nodes repeat it periodically. */
const UNTOLD = 'NodeGetVolumeStats';

const untold = (): void => {};

export function tracedConnection(connection: CsiConnection, by: string, book: TraceBook): CsiConnection {
  return observedConnection(connection, (method, request) => {
    const shown = shownOf(request as Record<string, unknown>);
    if (method.name === UNTOLD || !isAboutVolume(shown)) return untold;
    const end = book.begin({ by, method: method.name, request: shown });
    return (error) => {
      const told = error instanceof CsiError ? error : undefined;
      if (error === undefined) end({ code: 'OK' });
      else end({ code: told?.code ?? 'UNKNOWN', error: told?.description ?? String(error) });
    };
  });
}
