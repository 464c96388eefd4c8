// Facts about this machine for the status of its Node.

import { arch, availableParallelism, networkInterfaces, release, totalmem } from 'node:os';
import type { HostFacts } from './node-status.ts';

const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

export function hostFacts(hostname: string, version: string): HostFacts {
  return {
    hostname,
    os: 'linux',
    arch: GO_ARCHITECTURES[arch()] ?? arch(),
    kernelVersion: release(),
    cpuCount: availableParallelism(),
    memoryBytes: totalmem(),
    addresses: Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
      .map(({ address }) => address),
    version,
  };
}
