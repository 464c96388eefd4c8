// `berth audit` as a process, against an API server behind HTTPS and a scripted driver on a socket.

import type { TestContext } from 'node:test';
import {
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../src/api/kinds.ts';
import { ANN_STORAGE_PROVISIONER } from '../../src/api/well-known.ts';
import type { Interceptor } from '../../src/csi/server/serve-call.ts';
import { serveCsi } from '../../src/csi/server/serve-csi.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../src/csi/testing/scripted-driver.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { sidecarRig } from '../../src/sidecars/testing/sidecar-rig.ts';
import { berth } from '../e2e/up-process.ts';

export const DRIVER = 'scripted.csi.test';
/** Nothing is waited for between the looks, and nothing is too young. */
export const AT_ONCE = ['--confirm-after=0s', '--min-age=0s'];
const ALL: NonNullable<ScriptedDriverOptions['controller']> = [
  'CREATE_DELETE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'LIST_VOLUMES',
  'LIST_VOLUMES_PUBLISHED_NODES',
  'CREATE_DELETE_SNAPSHOT',
  'LIST_SNAPSHOTS',
];

export interface Found {
  readonly id: string;
  readonly severity: string;
  readonly does?: string;
  readonly advice?: string;
}

export async function auditWorld(
  t: TestContext,
  options: { controller?: ScriptedDriverOptions['controller']; interceptor?: Interceptor } = {},
) {
  const rig = await sidecarRig(t);
  const { admin: kube, socket, kubeconfig, directory } = rig;
  const driver = new ScriptedDriver({ name: DRIVER, controller: options.controller ?? ALL });
  const served = await serveCsi({
    address: socket,
    services: driver.services,
    interceptors: [...(options.interceptor ? [options.interceptor] : []), driver.interceptor],
    clock: realClock,
    log: silentLog,
  });
  t.after(() => served.stop(0));
  await kube.create(storageClasses, { metadata: { name: 'fast' }, provisioner: DRIVER });
  const where = ['--kubeconfig', kubeconfig, '--csi-address', socket];
  const run = (...args: readonly string[]) => berth(['audit', ...args, ...where]);
  return {
    rig,
    kube,
    driver,
    directory,
    served,
    run,
    /** Exit code and findings of `berth audit -o json`. */
    async audit(...args: readonly string[]) {
      const { code, stdout, stderr } = await run(...AT_ONCE, '-o', 'json', ...args);
      if (stdout === '') throw new Error(`berth audit ended with ${code}: ${stderr}`);
      const { findings, problems, limits, underWay } = JSON.parse(stdout) as {
        findings: Found[];
        problems: string[];
        limits: string[];
        underWay: { subject: string }[];
      };
      return { code, findings, problems, limits, underWay };
    },
    /** A volume that only the storage has. */
    leak(id: string): void {
      driver.volumes.set(id, {
        id,
        name: id,
        capacityBytes: 1n << 30n,
        parameters: {},
        topology: [],
        publishedOn: new Map(),
      });
    },
    makeVolume: (name: string, handle: string, spec: Partial<PersistentVolume['spec']> = {}) =>
      kube.create(persistentVolumes, {
        metadata: { name },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: 'fast',
          csi: { driver: DRIVER, volumeHandle: handle },
          ...spec,
        },
      }),
    /** A claim that the binder has given to the driver's provisioner. */
    makeClaim: (name: string) =>
      kube.create(persistentVolumeClaims, {
        metadata: { name, namespace: 'default', annotations: { [ANN_STORAGE_PROVISIONER]: DRIVER } },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'fast',
          resources: { requests: { storage: '1Gi' } },
        },
      }),
  };
}
