// Every file of examples/, applied with kubectl to `berth up`, looked at, and deleted again without a trace.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { lacking } from '../capabilities.ts';
import { EXAMPLES, mountsBelow, startUp, temporaryDirectory, type UpProcess } from './up-process.ts';

/** What each one must lead to, given the paths of its pods' volumes. */
const checks: Record<
  string,
  {
    pods: string[];
    skip?: string | false;
    prepare?: (up: UpProcess) => Promise<void>;
    check?: (up: UpProcess, paths: string[]) => Promise<void>;
  }
> = {
  'claim-and-pod.yaml': { pods: ['web'] },
  'real-pod.yaml': { pods: ['real'] },
  'shared-volume.yaml': {
    pods: ['shared-left', 'shared-right'],
    async check(_up, [left = '', right = '']) {
      await writeFile(join(left, 'word'), 'from the left');
      assert.equal(await readFile(join(right, 'word'), 'utf8'), 'from the left');
    },
  },
  'delayed-binding.yaml': {
    pods: ['late'],
    async check(up) {
      const claim = await up.get('pvc', 'late');
      assert.equal(claim.metadata.annotations['volume.kubernetes.io/selected-node'], 'node-2');
      const pod = await up.get('pod', 'late');
      assert.equal(pod.spec.nodeName, 'node-2');
    },
  },
  'allowed-topology.yaml': {
    pods: ['in-zone-b'],
    async check(up) {
      const { spec } = await up.get('pod', 'in-zone-b');
      assert.equal(spec.nodeName, 'node-3');
      const claim = await up.get('pvc', 'in-zone-b');
      const volume = await up.get('pv', claim.spec.volumeName);
      assert.deepEqual(volume.spec.nodeAffinity.required.nodeSelectorTerms, [
        {
          matchExpressions: [{ key: 'topology.hostpath.csi.berth/zone', operator: 'In', values: ['zone-b'] }],
        },
      ]);
    },
  },
  'inline-ephemeral.yaml': {
    pods: ['scratch'],
    async check(up) {
      assert.deepEqual((await up.get('pv')).items, []);
    },
  },
  'generic-ephemeral.yaml': {
    pods: ['borrower'],
    async check(up) {
      const claim = await up.get('pvc', 'borrower-data');
      assert.equal(claim.metadata.ownerReferences[0].kind, 'Pod');
    },
  },
  'secrets.yaml': {
    pods: ['keeper'],
    async check(up) {
      assert.doesNotMatch(up.output().stderr + up.output().stdout, /not-shown/);
      const kinds = 'pv,pvc,pods,volumeattachments,events,csinodes';
      assert.doesNotMatch(await up.kubectl('get', kinds, '-A', '-o', 'yaml'), /not-shown/);
    },
  },
  'filesystem-image.yaml': {
    pods: ['sized'],
    skip: lacking('loop', 'mkfs.ext4'),
    async check(_up, [path = '']) {
      assert.equal((await stat(path)).gid, 2000);
      await assert.rejects(writeFile(join(path, 'too-much'), Buffer.alloc(64 << 20)), { code: 'ENOSPC' });
    },
  },
  'expansion.yaml': {
    pods: ['growing'],
    skip: lacking('loop', 'mkfs.xfs'),
    async check(up, [path = '']) {
      const sizeOf = async () => {
        const { blocks, bsize } = await statfs(path);
        return blocks * bsize;
      };
      assert.ok((await sizeOf()) < 320 << 20);
      await writeFile(join(path, 'word'), 'kept');
      const request = { spec: { resources: { requests: { storage: '512Mi' } } } };
      await up.kubectl('patch', 'pvc', 'growing', '--patch', JSON.stringify(request));
      const grown = '--for=jsonpath={.status.capacity.storage}=512Mi';
      await up.kubectl('wait', 'pvc', 'growing', grown, '--timeout=45s');
      assert.ok((await sizeOf()) > 400 << 20, 'under the mounted pod');
      assert.equal(await readFile(join(path, 'word'), 'utf8'), 'kept');
      const claim = await up.get('pvc', 'growing');
      assert.deepEqual(claim.status.conditions ?? [], []);
      const volume = await up.get('pv', claim.spec.volumeName);
      assert.equal(volume.spec.capacity.storage, '512Mi');
    },
  },
  'snapshot.yaml': {
    pods: ['from-snapshot'],
    async prepare(up) {
      await up.kubectl('apply', '-f', join(EXAMPLES, 'claim-and-pod.yaml'));
      const { data = '' } = await up.published('web');
      await writeFile(join(data, 'word'), 'as it was');
    },
    async check(up, [restored = '']) {
      assert.equal(await readFile(join(restored, 'word'), 'utf8'), 'as it was');
      await up.kubectl('delete', '-f', join(EXAMPLES, 'claim-and-pod.yaml'), '--timeout=45s');
    },
  },
  'block-volume.yaml': {
    pods: ['raw'],
    skip: lacking('loop'),
    async check(_up, [path = '']) {
      assert.equal((await stat(path)).isBlockDevice(), true);
    },
  },
  'group-snapshot.yaml': {
    pods: [],
    async check(up) {
      const ready = '--for=jsonpath={.status.readyToUse}=true';
      await up.kubectl('wait', 'volumegroupsnapshot/database', ready, '--timeout=45s');
      assert.equal((await up.get('volumesnapshot')).items.length, 2);
    },
  },
  'statefulset.yaml': {
    pods: ['db-0', 'db-1'],
    async check(up) {
      await up.kubectl('delete', '-f', join(EXAMPLES, 'statefulset.yaml'));
      await up.kubectl('delete', 'pvc', '-l', 'app=db');
    },
  },
};

describe('examples', { skip: lacking('root', 'kubectl') }, () => {
  const cleanups: (() => unknown)[] = [];
  let up: UpProcess;
  before(async () => {
    const t = { after: (fn: unknown) => void cleanups.push(fn as () => unknown) };
    const directory = await temporaryDirectory(t);
    up = await startUp(t, join(directory, 'd'), ['--nodes', '3']);
  });
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  it('is complete: every file has its check', () => {
    const files = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'));
    assert.deepEqual(files.toSorted(), Object.keys(checks).toSorted());
  });

  for (const [file, { pods, skip = false, prepare, check }] of Object.entries(checks)) {
    it(file, { skip }, async () => {
      const path = join(EXAMPLES, file);
      await prepare?.(up);
      await up.kubectl('apply', '-f', path);
      const paths: string[] = [];
      for (const pod of pods) {
        for (let tries = 0; ; tries += 1) {
          // The second pod of a set is made after the first one is ready: kubectl cannot wait for what is not there.
          if ((await up.kubectl('get', 'pod', pod, '--ignore-not-found', '-o', 'name')) !== '') break;
          assert.ok(tries < 200, `pod ${pod} is not made`);
        }
        paths.push(...Object.values(await up.published(pod)));
      }
      assert.equal(paths.length, pods.length);
      await check?.(up, paths);
      await up.kubectl('delete', '-f', path, '--ignore-not-found', '--timeout=45s');
      for (const kind of ['pods', 'volumesnapshots', 'pvc', 'pv', 'volumeattachments']) {
        await up.kubectl('wait', kind, '--all', '--for=delete', '--timeout=45s');
      }
      assert.deepEqual(mountsBelow(up.dataDir), []);
    });
  }
});
