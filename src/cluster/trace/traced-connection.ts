// A connection to a driver whose calls are written into the trace: what was asked, how long it took, how it ended.

import type { CsiConnection } from '../../csi/connect-csi.ts';
import { CsiError } from '../../csi/csi-error.ts';
import type { TraceBook } from './trace-book.ts';
import { handleToken, podUidToken, type Token, volumeToken } from './trace-entry.ts';

/** Fields of requests that say what a call is about. All others, secrets first of all, are left out. */
const SHOWN = [
  'name',
  'volumeId',
  'snapshotId',
  'sourceVolumeId',
  'nodeId',
  'stagingTargetPath',
  'targetPath',
  'volumePath',
] as const;

/** A question that nodes repeat without end. */
const UNTOLD = 'NodeGetVolumeStats';

export function tracedConnection(connection: CsiConnection, by: string, book: TraceBook): CsiConnection {
  return {
    address: connection.address,
    get state() {
      return connection.state;
    },
    onStateChange: connection.onStateChange,
    waitForReady: connection.waitForReady,
    stream: connection.stream,
    close: connection.close,
    async call(method, request, options) {
      const asked = about(request as Record<string, unknown>);
      const isAboutVolume = asked.links.length > 0 && method.name !== UNTOLD;
      if (!isAboutVolume) return connection.call(method, request, options);
      const end = book.begin({ by, method: method.name, ...asked });
      try {
        const response = await connection.call(method, request, options);
        end({ code: 'OK' });
        return response;
      } catch (error) {
        const told = error instanceof CsiError ? error : undefined;
        end({ code: told?.code ?? 'UNKNOWN', error: told?.description ?? String(error) });
        throw error;
      }
    },
  };
}

/** Pure. What the call is about, in fields for people and in tokens for finding it. */
export function about(request: Readonly<Record<string, unknown>>): {
  request: Record<string, string>;
  links: Token[];
  podUid?: string;
} {
  const shown: Record<string, string> = {};
  for (const field of SHOWN) {
    const value = request[field];
    if (typeof value === 'string' && value !== '') shown[field] = value;
  }
  const links: Token[] = [];
  if (shown.name) links.push(volumeToken(shown.name));
  if (shown.volumeId) links.push(handleToken(shown.volumeId));
  if (shown.sourceVolumeId) links.push(handleToken(shown.sourceVolumeId));
  const podUid = /\/pods\/([0-9a-f-]{36})\//.exec(shown.targetPath ?? shown.volumePath ?? '')?.[1];
  if (podUid !== undefined) links.push(podUidToken(podUid));
  return { request: shown, links, ...(podUid !== undefined && { podUid }) };
}
