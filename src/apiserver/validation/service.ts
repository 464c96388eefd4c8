// Services, Endpoints and EndpointSlices, in Kubernetes' words.

import { isIP } from 'node:net';
import {
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from '../../api/names.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf, stringOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, forbidden, invalid, required } from './checks.ts';
import { addressErrors, NO_ADDRESS } from './service-addresses.ts';

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

export function validateService(service: Loose, current?: Loose): FieldError[] {
  const wrongAddresses = addressErrors(service, current);
  if (wrongAddresses.length > 0) return wrongAddresses;
  const checks = new Checks();
  checks.text('metadata.name', service.metadata.name, dns1035LabelProblems);
  const spec = mapOf(service.spec) ?? {};
  checks.oneOf('spec.type', spec.type, TYPES);
  checks.oneOf('spec.sessionAffinity', spec.sessionAffinity, ['ClientIP', 'None']);
  checks.oneOf('spec.internalTrafficPolicy', spec.internalTrafficPolicy, ['Cluster', 'Local']);
  checks.oneOf('spec.externalTrafficPolicy', spec.externalTrafficPolicy, ['Cluster', 'Local']);
  for (const [key, value] of Object.entries(mapOf(spec.selector) ?? {})) {
    checks.text('spec.selector', key, labelKeyProblems);
    checks.text('spec.selector', value, labelValueProblems);
  }
  for (const [index, address] of stringsOf(spec.externalIPs).entries()) {
    checkAddress(checks, at('spec.externalIPs', index), address);
  }
  if (
    spec.type !== 'LoadBalancer' &&
    mapsOf(mapOf(mapOf(service.status)?.loadBalancer)?.ingress).length > 0
  ) {
    const detail = "may only be used when `spec.type` is 'LoadBalancer'";
    checks.add(forbidden('status.loadBalancer.ingress', detail));
  }
  const ports = mapsOf(spec.ports);
  const isHeadless = spec.clusterIP === NO_ADDRESS;
  if (spec.type === 'ExternalName') {
    checks.required('spec.externalName', spec.externalName);
    checks.text('spec.externalName', spec.externalName, dns1123SubdomainProblems);
    if (spec.clusterIP) checks.add(forbidden('spec.clusterIPs', 'may not be set for ExternalName services'));
  } else if (ports.length === 0 && !isHeadless) checks.add(required('spec.ports'));
  if (isHeadless && (spec.type === 'NodePort' || spec.type === 'LoadBalancer')) {
    checks.add(
      invalid('spec.clusterIPs[0]', NO_ADDRESS, `may not be set to 'None' for ${spec.type} services`),
    );
  }
  for (const [index, port] of ports.entries()) {
    const field = at('spec.ports', index);
    checkServicePort(checks, field, port);
    if (port.nodePort && (spec.type === 'ClusterIP' || spec.type === 'ExternalName')) {
      checks.add(forbidden(`${field}.nodePort`, `may not be used when \`type\` is '${spec.type}'`));
    }
    if (ports.length > 1) checks.required(`${field}.name`, port.name);
  }
  checks.unique(
    'spec.ports',
    ports.map(({ name }) => name),
    (index) => `${at('spec.ports', index)}.name`,
  );
  return checks.errors;
}

function checkServicePort(checks: Checks, field: string, port: LooseMap): void {
  if (stringOf(port.name) !== '') checks.text(`${field}.name`, port.name, dns1123LabelProblems);
  checkPort(checks, `${field}.port`, port.port);
  if (typeof port.targetPort === 'number') checkPort(checks, `${field}.targetPort`, port.targetPort);
  if (port.nodePort) checkPort(checks, `${field}.nodePort`, port.nodePort);
  checks.oneOf(`${field}.protocol`, port.protocol, PROTOCOLS);
}

function checkPort(checks: Checks, field: string, port: unknown): void {
  if (typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535) return;
  checks.add(invalid(field, port ?? 0, 'must be between 1 and 65535, inclusive'));
}

export function validateServiceUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  const [after, before] = [mapOf(next.spec) ?? {}, mapOf(current.spec) ?? {}];
  if (before.type === 'ExternalName' || after.type === 'ExternalName' || !before.clusterIP)
    return checks.errors;
  if (after.clusterIP !== before.clusterIP && addressErrors(next, current).length === 0) {
    checks.add(invalid('spec.clusterIPs[0]', after.clusterIPs, 'may not change once set'));
  }
  return checks.errors;
}

export function validateEndpoints(endpoints: Loose): FieldError[] {
  const checks = new Checks();
  for (const [index, subset] of mapsOf(endpoints.subsets).entries()) {
    const field = at('subsets', index);
    const addresses = [...mapsOf(subset.addresses), ...mapsOf(subset.notReadyAddresses)];
    if (addresses.length === 0) {
      checks.add(required(field, 'must specify `addresses` or `notReadyAddresses`'));
    }
    for (const [position, { ip }] of addresses.entries()) {
      checkAddress(checks, `${at(`${field}.addresses`, position)}.ip`, ip);
    }
    for (const [position, port] of mapsOf(subset.ports).entries()) {
      const path = at(`${field}.ports`, position);
      if (mapsOf(subset.ports).length > 1) checks.required(`${path}.name`, port.name);
      checkPort(checks, `${path}.port`, port.port);
      checks.oneOf(`${path}.protocol`, port.protocol, PROTOCOLS);
    }
  }
  return checks.errors;
}

function checkAddress(checks: Checks, field: string, address: unknown): void {
  const text = stringOf(address);
  if (isIP(text) === 0) {
    checks.add(invalid(field, address, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'));
  } else if (/^(127\.|::1$)/.test(text)) {
    checks.add(invalid(field, address, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'));
  }
}

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];
const MOST_ENDPOINTS = 1000;

export function validateEndpointSlice(slice: Loose, current?: Loose): FieldError[] {
  const checks = new Checks();
  if (checks.required('addressType', slice.addressType)) {
    checks.oneOf('addressType', slice.addressType, ADDRESS_TYPES);
  }
  // Endpoints that were accepted once stay valid.
  if (current === undefined || !sameJson(slice.endpoints, current.endpoints)) checkEndpoints(checks, slice);
  const ports = mapsOf(slice.ports);
  for (const [index, port] of ports.entries()) {
    const field = at('ports', index);
    if (stringOf(port.name) !== '') checks.text(`${field}.name`, port.name, dns1123LabelProblems);
    checks.oneOf(`${field}.protocol`, port.protocol, PROTOCOLS);
  }
  checks.unique(
    'ports',
    ports.map(({ name }) => name),
    (index) => `${at('ports', index)}.name`,
  );
  return checks.errors;
}

function checkEndpoints(checks: Checks, slice: Loose): void {
  const endpoints = mapsOf(slice.endpoints);
  if (endpoints.length > MOST_ENDPOINTS) {
    checks.add(invalid('endpoints', endpoints.length, `must have at most ${MOST_ENDPOINTS} items`));
  }
  for (const [index, endpoint] of endpoints.entries()) {
    const field = `${at('endpoints', index)}.addresses`;
    const addresses = stringsOf(endpoint.addresses);
    if (addresses.length === 0) checks.add(required(field, 'must contain at least 1 address'));
    if (endpoint.nodeName !== undefined) {
      checks.text(`${at('endpoints', index)}.nodeName`, endpoint.nodeName, dns1123SubdomainProblems);
    }
    if (endpoint.hostname !== undefined) {
      checks.text(`${at('endpoints', index)}.hostname`, endpoint.hostname, dns1123LabelProblems);
    }
    for (const [position, address] of addresses.entries()) {
      const family = slice.addressType === 'IPv4' ? 4 : slice.addressType === 'IPv6' ? 6 : undefined;
      if (family === undefined) continue;
      checkAddress(checks, at(field, position), address);
      if (isIP(address) !== 0 && isIP(address) !== family) {
        checks.add(invalid(field, address, `must be an IPv${family} address`));
      }
    }
  }
}

export function validateEndpointSliceUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('addressType', next.addressType, current.addressType);
  return checks.errors;
}
