// The network of a real node's pods: a bridge with an address of this machine, at which the kubelet and the API server listen
// for pods, and for nobody outside of the machine. Owns the bridge; CNI plugins connect pods to it.

import { execFile } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { KubeletError } from './kubelet-programs.ts';

const run = promisify(execFile);

export interface PodNetwork {
  /** `10.245.7.0/24`. */
  readonly subnet: string;
  /** Of this machine on the bridge. */
  readonly gateway: string;
}

const PREFIX = '10.245';
const NETWORKS = 256;

/** The first network that no interface of the machine has, from one that depends on the bridge's name. Pure. */
export function choosePodNetwork(
  bridge: string,
  taken: readonly { name: string; address: string }[],
): PodNetwork {
  const first = Number.parseInt(bridge.slice(-2), 16) || 0;
  for (let step = 0; step < NETWORKS; step++) {
    const number = (first + step) % NETWORKS;
    const own = `${PREFIX}.${number}.`;
    if (taken.some(({ name, address }) => name !== bridge && address.startsWith(own))) continue;
    return { subnet: `${own}0/24`, gateway: `${own}1` };
  }
  throw new KubeletError(`every network of ${PREFIX}.0.0/16 is in use on this machine; remove an interface`);
}

export function interfaceAddresses(): { name: string; address: string }[] {
  return Object.entries(networkInterfaces()).flatMap(([name, all = []]) =>
    all.map(({ address }) => ({ name, address })),
  );
}

/** A bridge of that name is replaced. */
export async function openBridge(bridge: string, { gateway }: PodNetwork): Promise<void> {
  await closeBridge(bridge);
  try {
    await run('ip', ['link', 'add', bridge, 'type', 'bridge']);
    await run('ip', ['address', 'add', `${gateway}/24`, 'dev', bridge]);
    await run('ip', ['link', 'set', bridge, 'up']);
  } catch (error) {
    await closeBridge(bridge);
    throw new KubeletError(
      `the bridge ${bridge} for pods could not be made: ${lastLine(error)}; containers need a kernel with bridges, and root`,
      { cause: error },
    );
  }
}

export async function closeBridge(bridge: string): Promise<void> {
  if (bridge in networkInterfaces() || (await exists(bridge))) await run('ip', ['link', 'delete', bridge]);
}

async function exists(bridge: string): Promise<boolean> {
  return run('ip', ['link', 'show', bridge]).then(
    () => true,
    () => false,
  );
}

/** What the program said, instead of Node's "Command failed". */
export function lastLine(error: unknown): string {
  const { stderr = '', message } = error as { stderr?: string; message: string };
  return stderr.trim().split('\n').at(-1) || message;
}
