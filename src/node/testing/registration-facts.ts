// For tests of registration: the entries of a driver in the API, the notifications to its registrar, and the CRD of
// CSINodeInfo.

import { type CSINode, csiNodes } from '../../api/kinds.ts';
import type { Clock } from '../../runtime/ports.ts';
import { realClock } from '../../runtime/time/clock.ts';
import type { NodeWorld, Registrar } from './node-world.ts';

/** The prefix of labels that drivers may set in these tests. */
export const PREFIX = 'topology.test/';

/** The `count`th notification of the node to the registrar. */
export async function registrationStatus(
  registrar: Registrar,
  count = 1,
): Promise<Registrar['statuses'][number]> {
  while (registrar.statuses.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  return registrar.statuses[count - 1] as Registrar['statuses'][number];
}

export const entry = (csiNode: CSINode | undefined, driver: string) =>
  csiNode?.spec?.drivers?.find(({ name }) => name === driver);

export const untilEntry = (world: NodeWorld, driver: string, nodeId: string | undefined, node = 'n1') =>
  world.until(csiNodes, node, (now) => entry(now, driver)?.nodeID === nodeId);

/** A clock in which minutes pass in a second. */
export const fastClock: Clock = {
  ...realClock,
  monotonicMs: () => realClock.monotonicMs() * 100,
  setTimeout: (callback, delayMs) => realClock.setTimeout(callback, delayMs / 100),
};

export const nodeInfoDefinition = {
  metadata: {
    name: 'csinodeinfos.csi.storage.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
  },
  spec: {
    group: 'csi.storage.k8s.io',
    scope: 'Cluster',
    names: {
      kind: 'CSINodeInfo',
      listKind: 'CSINodeInfoList',
      plural: 'csinodeinfos',
      singular: 'csinodeinfo',
    },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              csiDrivers: {
                type: 'array',
                items: {
                  type: 'object',
                  properties: {
                    name: { type: 'string' },
                    nodeID: { type: 'string' },
                    topologyKeys: { type: 'array', items: { type: 'string' } },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};
