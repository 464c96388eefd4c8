// Keeps kubeconfigs valid while the server runs: writes each, and rewrites it with a new client certificate before the
// current one expires. Checks once a day by the wall clock, since a machine may have been asleep.

import type { Clock, Log, Timer } from '../../runtime/ports.ts';
import type { User } from '../pipeline.ts';
import { issueKubeconfig, writeKubeconfig } from './kubeconfig.ts';
import { CLIENT_DAYS, DAY_MS, type Pki, RENEW_DAYS } from './pki.ts';

export interface KubeconfigKeeper {
  /** Rejects when the first write fails, for example because the file is not ours. */
  keep(path: string, user: User): Promise<void>;
  stop(): void;
}

export function createKubeconfigKeeper(ports: {
  server: string;
  pki: Pick<Pki, 'caPem' | 'issueClientCertificate'>;
  clock: Clock;
  log: Log;
}): KubeconfigKeeper {
  const { server, pki, clock, log } = ports;
  const kept = new Map<string, { user: User; renewAtMs: number }>();
  let timer: Timer | undefined;

  const write = async (path: string, user: User): Promise<void> => {
    await writeKubeconfig(path, issueKubeconfig({ server, pki, user }));
    kept.set(path, { user, renewAtMs: clock.now() + (CLIENT_DAYS - RENEW_DAYS) * DAY_MS });
  };
  const look = async (): Promise<void> => {
    for (const [path, { user, renewAtMs }] of kept) {
      if (clock.now() < renewAtMs) continue;
      try {
        await write(path, user);
        log.info('a kubeconfig was written again, because its certificate would have ended', { path });
      } catch (error) {
        log.error(
          'a kubeconfig whose certificate ends soon could not be written; trying again in a day',
          error,
          {
            path,
          },
        );
      }
    }
  };
  const arm = (): void => {
    timer = clock.setTimeout(() => {
      void look();
      arm();
    }, DAY_MS);
  };

  return {
    async keep(path, user) {
      await write(path, user);
      if (timer === undefined) arm();
    },
    stop: () => timer?.cancel(),
  };
}
