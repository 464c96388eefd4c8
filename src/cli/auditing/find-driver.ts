// The driver that an audit is of: the given socket, or hostpath of the `berth up` whose kubeconfig is used.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defaultDataDirectory, kubeconfigIn } from '../../cluster/data-directory.ts';
import { socketPath } from '../../csi/names/socket-path.ts';
import { type Environment, UsageError } from '../command.ts';

export interface FoundDriver {
  readonly address: string;
  /** It is part of `berth up`: no other cluster uses its storage. */
  readonly isOwn: boolean;
}

export function findDriver(
  flags: { csiAddress: string | undefined; kubeconfig: string | undefined },
  env: Environment,
): FoundDriver {
  if (flags.csiAddress !== undefined) return { address: socketPath(flags.csiAddress), isOwn: false };
  const own = join(dataDirectory(flags, env), 'd', 'hostpath', 'csi.sock');
  if (existsSync(own)) return { address: own, isOwn: true };
  throw new UsageError(
    'which driver? Give the socket of its controller service with --csi-address, or start `berth up` on this machine',
  );
}

/** Of the `berth up` whose kubeconfig is used: the kubeconfig is in it. */
export function dataDirectory(flags: { kubeconfig: string | undefined }, env: Environment): string {
  return dirname(flags.kubeconfig ?? (env.KUBECONFIG || kubeconfigIn(defaultDataDirectory(env))));
}
