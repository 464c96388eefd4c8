// The Service `kubernetes` in the namespace default, from which a kubelet takes the address of the API server for the
// environment of its pods: a real address of this machine, since nothing routes to addresses of Services.

import { endpointSlices, endpoints, type Service, services } from '../../api/kinds.ts';
import type { Draft, Resource } from '../../api/object.ts';
import type { ApiServer } from '../../apiserver/index.ts';

const NAME = { namespace: 'default', name: 'kubernetes' };

export async function publishApiService(
  server: Pick<ApiServer, 'client' | 'adminUser' | 'reader'>,
  { address, port }: { address: string; port: number },
): Promise<void> {
  const admin = server.client(server.adminUser);
  // An address cannot be changed, and everything here is ours.
  for (const resource of [services, endpoints, endpointSlices] as Resource[]) {
    if (server.reader.get(resource, NAME)) await admin.delete(resource, NAME);
  }
  const labels = { component: 'apiserver', provider: 'kubernetes' };
  const ports = [{ name: 'https', port, protocol: 'TCP' as const }];
  await admin.create(services, {
    metadata: { ...NAME, labels },
    spec: { type: 'ClusterIP', clusterIP: address, ports: [{ ...ports[0], port, targetPort: port }] },
  } as Draft<Service>);
  await admin.create(endpoints, { metadata: NAME, subsets: [{ addresses: [{ ip: address }], ports }] });
  await admin.create(endpointSlices, {
    metadata: { ...NAME, labels: { 'kubernetes.io/service-name': NAME.name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports,
  });
}
