// What every simulated cluster starts from: the state of an API server with what every cluster has, the roles of the
// sidecars, and custom kinds. Made once a process and always the same.

import { readdir, readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { type CustomResourceDefinition, customResourceDefinitions } from '../api/kinds.ts';
import type { Draft } from '../api/object.ts';
import { type ApiServer, createApiServer } from '../apiserver/api-server.ts';
import { installRoles } from '../cluster/start-objects.ts';
import { silentLog } from '../runtime/log/log.ts';
import { seededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';

type StoreImage = ReturnType<ApiServer['image']>;

export interface StartImage {
  readonly image: StoreImage;
  /** With the kinds of snapshots. Without them there is less to watch. */
  readonly snapshotImage: StoreImage;
  readonly pki: ApiServer['pki'];
}

const DEFINITIONS = new URL('../../deploy/crds/', import.meta.url);

export async function makeStartImage(): Promise<StartImage> {
  const server = await createApiServer({
    clock: new VirtualClock(),
    random: seededRandom('start'),
    log: silentLog,
    listen: false,
    tracksFields: false,
  });
  await define(server, ['csi.storage.k8s.io_csidrivers.yaml', 'csi.storage.k8s.io_csinodeinfos.yaml']);
  await installRoles(server, ['provisioner', 'attacher', 'resizer', 'snapshotter', 'snapshot-controller']);
  const image = server.image();
  const files = await readdir(DEFINITIONS);
  await define(
    server,
    files.filter((file) => /^(group)?snapshot\./.test(file)),
  );
  const start = { image, snapshotImage: server.image(), pki: server.pki };
  await server.stop();
  return start;
}

async function define(server: ApiServer, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const crd = parse(await readFile(new URL(file, DEFINITIONS), 'utf8')) as Draft<CustomResourceDefinition>;
    await server.client(server.adminUser).create(customResourceDefinitions, crd);
  }
}
