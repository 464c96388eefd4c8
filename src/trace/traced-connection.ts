// A driver connection whose calls are recorded in the trace: request, duration, result.

import type { CsiConnection } from '../csi/client/connect-csi.ts';
import { withCall } from '../csi/client/with-call.ts';
import { CsiError } from '../csi/csi-error.ts';
import { isAboutVolume, shownOf } from './about-call.ts';
import type { TraceBook } from './trace-book.ts';

/** Not recorded: nodes repeat it periodically. */
const UNTOLD = 'NodeGetVolumeStats';

export function tracedConnection(connection: CsiConnection, by: string, book: TraceBook): CsiConnection {
  return withCall(connection, async (method, request, options) => {
    const shown = shownOf(request as Record<string, unknown>);
    if (method.name === UNTOLD || !isAboutVolume(shown)) return connection.call(method, request, options);
    const end = book.begin({ by, method: method.name, request: shown });
    try {
      const response = await connection.call(method, request, options);
      end({ code: 'OK' });
      return response;
    } catch (error) {
      const told = error instanceof CsiError ? error : undefined;
      end({ code: told?.code ?? 'UNKNOWN', error: told?.description ?? String(error) });
      throw error;
    }
  });
}
