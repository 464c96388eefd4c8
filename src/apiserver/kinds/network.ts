// Services, Endpoints and EndpointSlices, as objects: pods read them as environment variables and clients by the API.
// Nothing routes traffic to a Service's address.

import type { Kind } from '../kind.ts';
import { endpointSliceColumns, endpointsColumns, serviceColumns } from '../printing/network-columns.ts';
import {
  validateEndpointSlice,
  validateEndpointSliceUpdate,
  validateEndpoints,
  validateService,
  validateServiceUpdate,
} from '../validation/service.ts';
import { defineKind } from './define-kind.ts';
import { ensureMap, type LooseMap, mapOf, mapsOf, setDefault, stringOf, stringsOf } from './loose.ts';

const serviceKind = defineKind({
  group: '',
  version: 'v1',
  module: 'core/v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
  shortNames: ['svc'],
  categories: ['all'],
  subresources: ['status'],
  columns: serviceColumns,
  setDefaults(service) {
    const spec = ensureMap(service, 'spec');
    setDefault(spec, 'type', 'ClusterIP');
    setDefault(spec, 'sessionAffinity', 'None');
    if (spec.type === 'ClusterIP' || spec.type === 'NodePort' || spec.type === 'LoadBalancer') {
      setDefault(spec, 'internalTrafficPolicy', 'Cluster');
    }
    if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') {
      setDefault(spec, 'externalTrafficPolicy', 'Cluster');
    }
    if (spec.sessionAffinity === 'ClientIP') {
      setDefault(
        ensureMap(ensureMap(spec, 'sessionAffinityConfig'), 'clientIP'),
        'timeoutSeconds',
        SESSION_SECONDS,
      );
    }
    for (const port of mapsOf(spec.ports)) {
      setDefault(port, 'protocol', 'TCP');
      setDefault(port, 'targetPort', port.port);
    }
    setDefault(ensureMap(service, 'status'), 'loadBalancer', {});
  },
  normalise(service, current) {
    const spec: LooseMap = { ...service.spec };
    service.spec = spec;
    if (spec.type !== 'ExternalName') {
      setDefault(spec, 'ipFamilies', ['IPv4']);
      setDefault(spec, 'ipFamilyPolicy', 'SingleStack');
      // A client that leaves the address out keeps it.
      const address = mapOf(current?.spec)?.clusterIP;
      if (address !== undefined && stringOf(spec.clusterIP) === '') spec.clusterIP = address;
    }
    equalAddresses(spec);
  },
  validate: validateService,
  validateUpdate: validateServiceUpdate,
  selectable: {
    'spec.clusterIP': (service) => service.spec?.clusterIP,
    'spec.type': (service) => service.spec?.type,
  },
});

/** Kubernetes' default: three hours. */
const SESSION_SECONDS = 10_800;

/** `clusterIP` is the first of `clusterIPs`; either may be given. */
function equalAddresses(spec: LooseMap): void {
  const [first] = stringsOf(spec.clusterIPs);
  if (stringOf(spec.clusterIP) === '' && first !== undefined) spec.clusterIP = first;
  else if (stringOf(spec.clusterIP) !== '' && first === undefined) spec.clusterIPs = [spec.clusterIP];
}

const endpointsKind = defineKind({
  group: '',
  version: 'v1',
  module: 'core/v1',
  kind: 'Endpoints',
  plural: 'endpoints',
  namespaced: true,
  shortNames: ['ep'],
  deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  columns: endpointsColumns,
  setDefaults(endpoints) {
    for (const subset of mapsOf(endpoints.subsets)) {
      for (const port of mapsOf(subset.ports)) setDefault(port, 'protocol', 'TCP');
    }
  },
  validate: validateEndpoints,
});

const endpointSliceKind = defineKind({
  group: 'discovery.k8s.io',
  version: 'v1',
  module: 'discovery/v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
  columns: endpointSliceColumns,
  hasGeneration: true,
  setDefaults(slice) {
    for (const port of mapsOf(slice.ports)) {
      setDefault(port, 'name', '');
      setDefault(port, 'protocol', 'TCP');
    }
  },
  validate: validateEndpointSlice,
  validateUpdate: validateEndpointSliceUpdate,
});

export const networkKinds: readonly Kind[] = [serviceKind, endpointsKind, endpointSliceKind];
