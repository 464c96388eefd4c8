// What every simulated cluster starts from: an API server that holds what every cluster has, the roles of
// the sidecars and the kind CSINodeInfo; made once a process and always the same.

import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { type CustomResourceDefinition, customResourceDefinitions } from '../api/kinds.ts';
import type { Draft } from '../api/object.ts';
import { type ApiServer, createApiServer } from '../apiserver/api-server.ts';
import { installRoles } from '../cluster/start-objects.ts';
import { silentLog } from '../runtime/log/log.ts';
import { seededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';

export interface StartImage {
  readonly image: ReturnType<ApiServer['image']>;
  readonly pki: ApiServer['pki'];
}

export async function makeStartImage(): Promise<StartImage> {
  const server = await createApiServer({
    clock: new VirtualClock(),
    random: seededRandom('start'),
    log: silentLog,
    listen: false,
    tracksFields: false,
  });
  const definition = new URL('../../deploy/crds/csi.storage.k8s.io_csinodeinfos.yaml', import.meta.url);
  const crd = parse(await readFile(definition, 'utf8')) as Draft<CustomResourceDefinition>;
  await server.client(server.adminUser).create(customResourceDefinitions, crd);
  await installRoles(server, ['provisioner', 'attacher', 'resizer']);
  const start = { image: server.image(), pki: server.pki };
  await server.stop();
  return start;
}
