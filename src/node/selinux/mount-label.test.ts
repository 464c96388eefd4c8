import assert from 'node:assert/strict';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import type { CSIDriver, Pod, PodSpec } from '../../api/kinds.ts';
import type { MountableVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import { hostSELinux } from './host-selinux.ts';
import { mountLabel } from './mount-label.ts';

const selinux = { fileLabel: 'system_u:object_r:container_file_t:s0' };
const LABEL = 'system_u:object_r:container_file_t:s0:c1,c2';
const level = 's0:c1,c2';

const container = (name: string, seLinuxOptions?: object, mounts = ['data']) => ({
  name,
  image: 'none',
  volumeMounts: mounts.map((volume) => ({ name: volume, mountPath: `/${volume}` })),
  ...(seLinuxOptions && { securityContext: { seLinuxOptions } }),
});
const podOf = (spec: object): Pod =>
  ({ metadata: { name: 'p', namespace: 'default' }, spec: { containers: [], ...spec } }) as unknown as Pod;
const inPod = (options: object, more: object = {}): Partial<PodSpec> =>
  ({
    securityContext: { seLinuxOptions: options, ...more },
    containers: [container('a')],
  }) as unknown as PodSpec;

interface Case {
  name: string;
  spec?: object;
  accessModes?: string[];
  inline?: boolean;
  seLinuxMount?: boolean;
  withoutSELinux?: boolean;
  gate?: boolean;
  then: string | undefined | RegExp;
}

const cases: Case[] = [
  { name: "the pod's level, with the policy's user, role and type", then: LABEL },
  { name: 'a driver that does not support it', seLinuxMount: false, then: undefined },
  { name: 'a host without SELinux', withoutSELinux: true, then: undefined },
  { name: 'ReadWriteOnce without the gate', accessModes: ['ReadWriteOnce'], then: undefined },
  { name: 'ReadWriteOnce with the gate', accessModes: ['ReadWriteOnce'], gate: true, then: LABEL },
  {
    name: 'ReadWriteOncePod beside another mode',
    accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'],
    then: undefined,
  },
  { name: 'an inline volume, even with the gate', inline: true, gate: true, then: undefined },
  { name: 'no options', spec: { containers: [container('a')] }, then: undefined },
  { name: 'no level: the runtime chooses one', spec: inPod({ type: 'container_t' }), then: undefined },
  {
    name: 'user counts, role and type are those of the process',
    spec: inPod({ user: 'u', role: 'r', type: 'spc_t', level }),
    then: 'u:object_r:container_file_t:s0:c1,c2',
  },
  {
    name: "a container's own options instead of the pod's",
    spec: { ...inPod({ level: 's0:c9' }), containers: [container('a', { level })] },
    then: LABEL,
  },
  {
    name: 'containers with the same label, one of them an init container',
    spec: { containers: [container('a', { level })], initContainers: [container('b', { level, type: 't' })] },
    then: LABEL,
  },
  {
    name: 'containers with different labels',
    spec: { containers: [container('a', { level })], initContainers: [container('b', { level: 's0:c9' })] },
    then: /multiple SELinux labels found for volume data: .*s0:c1,c2 and .*s0:c9; give all containers/,
  },
  {
    name: 'containers with different labels and an access mode that is not supported',
    spec: { containers: [container('a', { level }), container('b', { level: 's0:c9' })] },
    accessModes: ['ReadWriteOnce'],
    then: undefined,
  },
  {
    name: 'another container that does not mount the volume',
    spec: { containers: [container('a', { level }), container('b', { level: 's0:c9' }, ['other'])] },
    then: LABEL,
  },
  {
    name: 'seLinuxChangePolicy Recursive',
    spec: inPod({ level }, { seLinuxChangePolicy: 'Recursive' }),
    then: undefined,
  },
  {
    name: 'containers with different labels and seLinuxChangePolicy Recursive',
    spec: {
      ...inPod({ level }, { seLinuxChangePolicy: 'Recursive' }),
      containers: [container('a'), container('b', { level: 's0:c9' })],
    },
    then: undefined,
  },
  {
    name: 'seLinuxChangePolicy MountOption',
    spec: inPod({ level }, { seLinuxChangePolicy: 'MountOption' }),
    then: LABEL,
  },
];

describe('[NOD-7] the SELinux label of a mount', () => {
  for (const each of cases) {
    test(each.name, () => {
      const label = () =>
        mountLabel({
          pod: podOf(each.spec ?? inPod({ level })),
          volume: {
            accessModes: each.accessModes ?? ['ReadWriteOncePod'],
            attachedAs: each.inline ? { inlineIn: 'default' } : { pvName: 'pv' },
          } as unknown as MountableVolume,
          volumeNames: ['data'],
          driver: { spec: { seLinuxMount: each.seLinuxMount ?? true } } as CSIDriver,
          selinux: each.withoutSELinux ? undefined : selinux,
          everyAccessMode: each.gate ?? false,
        });
      if (each.then instanceof RegExp) assert.throws(label, each.then);
      else assert.equal(label(), each.then);
    });
  }
});

describe("[NOD-7] the host's SELinux", () => {
  const host = async (files: Record<string, string>) => {
    const root = await mkdtemp(join(tmpdir(), 'se-'));
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    return hostSELinux(root);
  };
  const config = { 'etc/selinux/config': '# comment\nSELINUX=enforcing\nSELINUXTYPE=mls\n' };
  const contexts = 'process = "system_u:system_r:container_t:s0"\nfile = "system_u:object_r:f_t:s0"\n';
  const on = { 'sys/fs/selinux/enforce': '0' };

  test('is off without its filesystem', async () => {
    assert.equal(await host({ ...config, 'etc/selinux/mls/contexts/lxc_contexts': contexts }), undefined);
  });
  test("gives the label of the policy's file", async () => {
    assert.deepEqual(await host({ ...on, ...config, 'etc/selinux/mls/contexts/lxc_contexts': contexts }), {
      fileLabel: 'system_u:object_r:f_t:s0',
    });
  });
  test("prefers container-selinux' file", async () => {
    const preferred = contexts.replace('f_t', 'container_file_t');
    assert.deepEqual(
      await host({
        ...on,
        ...config,
        'etc/selinux/mls/contexts/lxc_contexts': contexts,
        'usr/share/containers/selinux/contexts': preferred,
      }),
      { fileLabel: 'system_u:object_r:container_file_t:s0' },
    );
  });
  test('without labels for containers, there is none', async () => {
    assert.equal(await host({ ...on, ...config }), undefined);
  });
});
