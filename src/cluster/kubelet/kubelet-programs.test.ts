import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { findKubeletPrograms } from './kubelet-programs.ts';

const KUBELET = 'Kubernetes v1.36.4';
const CONTAINERD = 'containerd github.com/containerd/containerd/v2 v2.1.0 abc';

/** A PATH with scripts that print these versions. */
async function pathWith(t: TestContext, versions: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'programs-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  for (const [name, version] of Object.entries(versions)) {
    await writeFile(join(directory, name), `#!/bin/sh\necho '${version}'\n`, { mode: 0o755 });
  }
  return directory;
}

suite('[REAL-1] the programs of a real node', () => {
  const refusals: [string, Record<string, string>, RegExp][] = [
    ['no kubelet', {}, /kubelet was not found; download it .* --kubelet=PATH/],
    [
      'an old kubelet',
      { kubelet: 'Kubernetes v1.29.3' },
      /kubelet v1\.29\.3 at .* is too old: 1\.30 or newer/,
    ],
    ['something else', { kubelet: 'hello' }, /is no kubelet: --version says "hello/],
    ['no containerd', { kubelet: KUBELET }, /containerd was not found; install it .*apt install containerd/],
    [
      'an old containerd',
      { kubelet: KUBELET, containerd: 'containerd github.com/containerd/containerd 1.4.13~ds1 1.4.13' },
      /containerd 1\.4\.13~ds1 at .* is too old: 1\.6 or newer/,
    ],
  ];
  for (const [name, versions, message] of refusals) {
    test(`${name}: said with what to do`, async (t) => {
      const PATH = await pathWith(t, versions);
      await assert.rejects(findKubeletPrograms(undefined, { PATH }), { name: 'KubeletError', message });
    });
  }

  test('a path that is not executable', async (t) => {
    const PATH = await pathWith(t, { containerd: CONTAINERD });
    await assert.rejects(findKubeletPrograms('/none/kubelet', { PATH }), {
      message: '--kubelet: /none/kubelet is not an executable program',
    });
  });
});
