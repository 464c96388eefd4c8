import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { realClock } from '../../runtime/time/clock.ts';
import { issueKubeconfig, writeKubeconfig } from './kubeconfig.ts';
import { createPki } from './pki.ts';
import { ADMIN } from './users.ts';

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
});
after(() => rm(dir, { recursive: true, force: true }));

test('our own kubeconfig is readable by its owner only, and is replaced', async () => {
  const pki = await createPki({ clock: realClock });
  const path = join(dir, 'new', 'config');
  await writeKubeconfig(path, issueKubeconfig({ server: 'https://127.0.0.1:1', pki, user: ADMIN }));
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await writeKubeconfig(path, issueKubeconfig({ server: 'https://127.0.0.1:2', pki, user: ADMIN }));
  const config = JSON.parse(await readFile(path, 'utf8'));
  assert.equal(config.clusters[0].cluster.server, 'https://127.0.0.1:2');
  assert.equal(config['current-context'], 'kubernetes-admin@berth');
});

test("someone else's kubeconfig is not overwritten; the error names it", async () => {
  const pki = await createPki({ clock: realClock });
  const path = join(dir, 'theirs');
  const theirs = 'apiVersion: v1\nkind: Config\nclusters: []\n';
  await writeFile(path, theirs);
  const config = issueKubeconfig({ server: 'https://127.0.0.1:1', pki, user: ADMIN });
  await assert.rejects(writeKubeconfig(path, config), /theirs exists and was not written by berth/);
  assert.equal(await readFile(path, 'utf8'), theirs);
});
