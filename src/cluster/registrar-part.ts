// The node-registrar of one driver on one node: through it the node finds the driver, as a kubelet would.

import { join } from 'node:path';
import { connectCsi } from '../csi/client/connect-csi.ts';
import type { Part } from '../runtime/process/supervise.ts';
import { createNodeRegistrar } from '../sidecars/node-registrar/node-registrar.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import type { PartContext } from './part-context.ts';

const TIMEOUT_MS = 10_000;

export function registrarPart(
  { clock, log, record }: PartContext,
  driver: ClusterDriver,
  node: { name: string; root: string; socket: string },
): Part {
  const name = `node-registrar of ${driver.name} on ${node.name}`;
  return {
    name,
    async run(signal, serving) {
      const plain = connectCsi({ address: node.socket, clock, log });
      const connection = record?.(plain, 'node-registrar') ?? plain;
      try {
        const registrar = createNodeRegistrar({
          connection,
          driverName: driver.name,
          registrationDirectory: join(node.root, 'plugins_registry'),
          kubeletRegistrationPath: node.socket,
          // hostpath's CSIDriver object asks for pod information; that of a driver from outside says what it wants.
          requiresPublishPod: false,
          timeoutMs: TIMEOUT_MS,
          clock,
          log: { ...log.with({ part: name }), info: () => {} },
        });
        serving();
        await registrar.run(signal);
      } finally {
        connection.close();
      }
    },
  };
}
