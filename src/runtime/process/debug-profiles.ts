// What `--enable-pprof` serves: a CPU profile and a heap profile of the running process, under the paths Go programs
// use, in V8's formats (open them in Chrome's DevTools or with any .cpuprofile viewer).

import { Session } from 'node:inspector/promises';
import type { Clock } from '../ports.ts';

/** A profile that nobody waits for any more must not run for hours. */
const LONGEST_SECONDS = 300;
const DEFAULT_SECONDS = 30;

export interface DebugProfiles {
  /** The profile asked for by path and query; undefined when the path is none of these. */
  serve(path: string, query: URLSearchParams, signal: AbortSignal): Promise<string> | undefined;
}

export function createDebugProfiles(clock: Clock): DebugProfiles {
  let busy = false;

  /** V8 has one profiler: a second request at once would end the first one's profile. */
  async function exclusively(profile: (session: Session) => Promise<unknown>): Promise<string> {
    if (busy) throw new Error('another profile is being taken');
    busy = true;
    const session = new Session();
    session.connect();
    try {
      return JSON.stringify(await profile(session));
    } finally {
      session.disconnect();
      busy = false;
    }
  }

  return {
    serve(path, query, signal) {
      const asked = Number(query.get('seconds') ?? DEFAULT_SECONDS);
      const delayMs = Math.min(LONGEST_SECONDS, asked > 0 ? asked : DEFAULT_SECONDS) * 1000;
      switch (path) {
        case '/debug/pprof/profile':
          return exclusively(async (session) => {
            await session.post('Profiler.enable');
            await session.post('Profiler.start');
            await clock.sleep(delayMs, signal);
            return (await session.post('Profiler.stop')).profile;
          });
        case '/debug/pprof/heap':
          return exclusively(async (session) => {
            await session.post('HeapProfiler.enable');
            await session.post('HeapProfiler.startSampling');
            await clock.sleep(query.has('seconds') ? delayMs : 1000, signal);
            return (await session.post('HeapProfiler.stopSampling')).profile;
          });
        default:
          return undefined;
      }
    },
  };
}
