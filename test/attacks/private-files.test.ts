// The data directory holds Secrets and keys: nobody else on the machine may read any of it.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { configMaps } from '../../src/api/kinds.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';

async function openToOthers(dir: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (((await stat(path)).mode & 0o077) !== 0) found.push(path);
  }
  return found;
}

test('[DOOR-3] everything in the data directory is private, also what was not when it was made', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'private-'));
  t.after(() => rm(parent, { recursive: true, force: true }));
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const dataDir = join(parent, 'made', 'data');
  const run = async () => {
    const server = await testServer(t, {
      dataDir,
      listen: true,
      kubeconfigPath: join(dataDir, 'kubeconfig'),
    });
    const client = server.client(server.adminUser);
    await client.create(configMaps, { metadata: { namespace: 'default', generateName: 'a-' } });
    assert.deepEqual(await openToOthers(parent), []);
    await server.stop();
  };
  await run();
  await chmod(join(dataDir, 'state.db'), 0o644);
  await run();
});
