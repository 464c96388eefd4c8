// Gives each new Service that needs one the lowest free cluster address. Nothing routes to it: it identifies the Service.

import type { Service } from '../../api/kinds.ts';
import { services } from '../../api/kinds.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

/** As kubeadm has it; .0 is the network, .1 is left for the API server. */
const PREFIX = '10.96';
const FIRST = 2;
const END = 256 * 256;

export function clusterIP({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'ClusterIP',
    mutate(request) {
      if (!isAbout(request, services) || request.operation === 'delete' || request.subresource !== '') return;
      const { spec } = request.object as Service;
      // Validation rejects a family that this server has no addresses of.
      if (!spec || spec.type === 'ExternalName' || spec.clusterIP || spec.ipFamilies?.[0] === 'IPv6') return;
      const used = new Set<string | undefined>();
      for (const each of reader.list(services)) {
        used.add(each.spec?.clusterIP);
      }
      for (const { after } of reader.pending(services, request.namespace ?? ''))
        used.add(after?.spec?.clusterIP);
      for (let offset = FIRST; offset < END; offset++) {
        const address = `${PREFIX}.${offset >> 8}.${offset & 255}`;
        if (used.has(address)) continue;
        spec.clusterIP = address;
        spec.clusterIPs = [address];
        return;
      }
      refuse(
        request,
        `all cluster addresses of ${PREFIX}.0.0/16 are in use; delete Services that are not needed`,
      );
    },
  };
}
