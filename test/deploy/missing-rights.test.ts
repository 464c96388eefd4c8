// A sidecar whose role lacks a verb: it says which, loses nothing, and goes on by itself once the role has it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  clusterRoles,
  csiNodes,
  persistentVolumeClaims,
  persistentVolumes,
  roles,
  storageClasses,
  volumeAttachments,
} from '../../src/api/kinds.ts';
import type { KubeObject, Resource } from '../../src/api/object.ts';
import { ANN_STORAGE_PROVISIONER } from '../../src/api/well-known.ts';
import { ScriptedDriver } from '../../src/csi/testing/scripted-driver.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { sidecarRig } from '../../src/sidecars/testing/sidecar-rig.ts';
import { untilAny } from '../../src/sidecars/testing/until-any.ts';
import { COMPONENT_NAMESPACE, componentKubeconfig, installRoles } from '../interop/component-access.ts';

const DRIVER = 'scripted.csi.test';
type Component = 'provisioner' | 'attacher';

interface Rule {
  resources: string[];
  verbs: string[];
}
type Role = KubeObject & { rules: Rule[] };

interface Case {
  component: Component;
  lacks: { kind: 'ClusterRole' | 'Role'; resource: string; verb: string };
  flags: string[];
  says: string;
}

const election = ['--leader-election', `--leader-election-namespace=${COMPONENT_NAMESPACE}`];
const cases: Case[] = [
  {
    component: 'provisioner',
    lacks: { kind: 'ClusterRole', resource: 'persistentvolumes', verb: 'create' },
    flags: [],
    says: 'cannot create resource \\"persistentvolumes\\"',
  },
  {
    component: 'provisioner',
    lacks: { kind: 'ClusterRole', resource: 'persistentvolumeclaims', verb: 'watch' },
    flags: [],
    says: 'the account may not read the kind, deploy/rbac has the roles',
  },
  {
    component: 'provisioner',
    lacks: { kind: 'Role', resource: 'leases', verb: 'create' },
    flags: election,
    says: 'cannot create resource \\"leases\\"',
  },
  {
    component: 'attacher',
    lacks: { kind: 'ClusterRole', resource: 'volumeattachments/status', verb: 'patch' },
    flags: [],
    says: 'cannot patch resource \\"volumeattachments/status\\"',
  },
];

/** What the component is to do, and when it has. */
const works: Record<Component, (kube: KubeClient, driver: ScriptedDriver) => Promise<unknown>> = {
  provisioner: async (kube) => {
    await kube.create(storageClasses, { metadata: { name: 'c' }, provisioner: DRIVER });
    await kube.create(persistentVolumeClaims, {
      metadata: {
        name: 'data',
        namespace: 'default',
        annotations: { [ANN_STORAGE_PROVISIONER]: DRIVER },
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'c',
        resources: { requests: { storage: '1Mi' } },
      },
    });
  },
  attacher: async (kube, driver) => {
    const volume = { id: 'v', name: 'v', capacityBytes: 1n, parameters: {}, topology: [] };
    driver.volumes.set('v', { ...volume, publishedOn: new Map() });
    await kube.create(csiNodes, {
      metadata: { name: 'n' },
      spec: { drivers: [{ name: DRIVER, nodeID: 'n', topologyKeys: [] }] },
    });
    await kube.create(persistentVolumes, {
      metadata: { name: 'v' },
      spec: {
        capacity: { storage: '1Mi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver: DRIVER, volumeHandle: 'v' },
      },
    });
    await kube.create(volumeAttachments, {
      metadata: { name: 'a' },
      spec: { attacher: DRIVER, nodeName: 'n', source: { persistentVolumeName: 'v' } },
    });
  },
};

for (const { component, lacks, flags, says } of cases) {
  const { resource, verb } = lacks;
  test(`[DEP-2] the ${component} without the right to ${verb} ${resource} says so, and goes on with it`, async (t) => {
    const rig = await sidecarRig(t);
    await installRoles(rig.admin as Parameters<typeof installRoles>[0], [component]);
    const restore = await takeAway(rig.admin, lacks);
    const driver = new ScriptedDriver({ name: DRIVER });
    await rig.serve(driver);
    await works[component](rig.admin, driver);
    const kubeconfig = await componentKubeconfig(rig.admin, rig, component);
    const sidecar = rig.spawn(component, [`--kubeconfig=${kubeconfig}`, ...flags]);
    await sidecar.said(says);
    assert.equal(sidecar.child.exitCode, null);

    await restore();
    if (component === 'attacher') {
      await untilAny(rig.admin, volumeAttachments, ({ status }) => status?.attached === true);
    } else {
      const made = await untilAny(rig.admin, persistentVolumes, () => true);
      assert.deepEqual([...driver.volumes.keys()], [made.spec.csi?.volumeHandle]);
    }
  });
}

/** Resolves with what gives it back. */
async function takeAway(
  kube: KubeClient,
  { kind, resource, verb }: Case['lacks'],
): Promise<() => Promise<unknown>> {
  const kindOfRole = (kind === 'ClusterRole' ? clusterRoles : roles) as unknown as Resource<Role>;
  const { items } = await kube.list(kindOfRole);
  const role = items.find(
    ({ metadata, rules }) =>
      metadata.name.startsWith('external-') && rules.some(({ resources }) => resources?.includes(resource)),
  );
  assert(role, `no ${kind} mentions ${resource}`);
  const { name, namespace } = role.metadata;
  const set = (rules: readonly Rule[]) =>
    kube.patch(kindOfRole, { name, ...(namespace && { namespace }) }, { rules }, { type: 'merge' });
  await set(
    role.rules.map((rule) =>
      rule.resources?.includes(resource)
        ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) }
        : rule,
    ),
  );
  return () => set(role.rules);
}
