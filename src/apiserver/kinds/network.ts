// Services, Endpoints and EndpointSlices, as objects: pods read them as environment variables and clients by the API.
// Nothing routes traffic to a Service's address.

import { deleteOwn, getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { Kind } from '../kind.ts';
import { endpointSliceColumns, endpointsColumns, serviceColumns } from '../printing/network-columns.ts';
import {
  validateEndpointSlice,
  validateEndpointSliceUpdate,
  validateEndpoints,
  validateService,
  validateServiceUpdate,
} from '../validation/service.ts';
import { isWithoutSelector } from '../validation/service-addresses.ts';
import { serviceWarnings } from '../validation/warnings.ts';
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
    if (isReachedFromOutside(spec)) setDefault(spec, 'externalTrafficPolicy', 'Cluster');
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
    const before = mapOf(current?.spec);
    if (before) dropOfOtherType(spec, before);
    if (spec.type !== 'ExternalName') {
      const isFree = isWithoutSelector(spec);
      setDefault(spec, 'ipFamilyPolicy', isFree ? 'RequireDualStack' : 'SingleStack');
      const [first = 'IPv4', ...more] = stringsOf(spec.ipFamilies);
      const needsBoth = isFree && spec.ipFamilyPolicy !== 'SingleStack' && more.length === 0;
      spec.ipFamilies = [first, ...(needsBoth ? [first === 'IPv4' ? 'IPv6' : 'IPv4'] : more)];
      // A client that leaves the address out keeps it.
      if (before?.clusterIP !== undefined && stringOf(spec.clusterIP) === '')
        spec.clusterIP = before.clusterIP;
    }
    equalAddresses(spec, before);
  },
  warnings: serviceWarnings,
  validate: validateService,
  validateUpdate: validateServiceUpdate,
  selectable: {
    'spec.clusterIP': (service) => service.spec?.clusterIP,
    'spec.type': (service) => service.spec?.type,
  },
});

/** Kubernetes' default: three hours. */
const SESSION_SECONDS = 10_800;

/** `clusterIP` is the first of `clusterIPs`; either may be given, and a change of the former counts for both. */
function equalAddresses(spec: LooseMap, before: LooseMap | undefined): void {
  const [first] = stringsOf(spec.clusterIPs);
  if (stringOf(spec.clusterIP) === '' && first !== undefined) spec.clusterIP = first;
  else if (stringOf(spec.clusterIP) === '') return;
  else if (first === undefined || isOnlyChange(spec, before)) spec.clusterIPs = [spec.clusterIP];
}

const isOnlyChange = (spec: LooseMap, before: LooseMap | undefined): boolean =>
  before !== undefined && spec.clusterIP !== before.clusterIP && sameJson(spec.clusterIPs, before.clusterIPs);

const isReachedFromOutside = (spec: LooseMap): boolean =>
  spec.type === 'NodePort' ||
  spec.type === 'LoadBalancer' ||
  (spec.type === 'ClusterIP' && stringsOf(spec.externalIPs).length > 0);

/** What a Service of the new type cannot have is dropped with the type, unless the client has just changed it. */
function dropOfOtherType(spec: LooseMap, before: LooseMap): void {
  const drop = (field: string): void => {
    if (sameJson(getOwn(spec, field), getOwn(before, field))) deleteOwn(spec, field);
  };
  if (spec.type === 'ExternalName' && before.type !== 'ExternalName') {
    for (const field of ['clusterIP', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']) drop(field);
    if (spec.clusterIP === undefined) drop('clusterIPs');
  }
  if (isReachedFromOutside(before) && !isReachedFromOutside(spec)) drop('externalTrafficPolicy');
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
