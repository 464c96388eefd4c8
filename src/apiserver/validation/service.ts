// Services, Endpoints and EndpointSlices, in Kubernetes' words.

import { isIP } from 'node:net';
import { dns1035LabelProblems, dns1123LabelProblems, dns1123SubdomainProblems } from '../../api/names.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf, stringOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, forbidden, invalid, required } from './checks.ts';

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const NO_ADDRESS = 'None';

export function validateService(service: Loose): FieldError[] {
  const checks = new Checks();
  checks.text('metadata.name', service.metadata.name, dns1035LabelProblems);
  const spec = mapOf(service.spec) ?? {};
  checks.oneOf('spec.type', spec.type, TYPES);
  checks.oneOf('spec.sessionAffinity', spec.sessionAffinity, ['ClientIP', 'None']);
  checks.oneOf('spec.internalTrafficPolicy', spec.internalTrafficPolicy, ['Cluster', 'Local']);
  checks.oneOf('spec.externalTrafficPolicy', spec.externalTrafficPolicy, ['Cluster', 'Local']);
  const ports = mapsOf(spec.ports);
  const isHeadless = spec.clusterIP === NO_ADDRESS;
  if (spec.type === 'ExternalName') {
    checks.required('spec.externalName', spec.externalName);
    checks.text('spec.externalName', spec.externalName, dns1123SubdomainProblems);
    if (spec.clusterIP)
      checks.add(forbidden('spec.clusterIPs[0]', 'may not be set for ExternalName services'));
  } else if (ports.length === 0 && !isHeadless) checks.add(required('spec.ports'));
  for (const [index, address] of stringsOf(spec.clusterIPs).entries()) {
    if (address !== NO_ADDRESS && isIP(address) === 0) {
      checks.add(invalid(at('spec.clusterIPs', index), address, 'must be a valid IP address'));
    }
  }
  if (isHeadless && spec.type !== 'ClusterIP') {
    checks.add(
      invalid('spec.clusterIPs[0]', NO_ADDRESS, `may not be set to 'None' for ${spec.type} services`),
    );
  }
  for (const [index, port] of ports.entries()) {
    const field = at('spec.ports', index);
    checkServicePort(checks, field, port);
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
  if (before.type !== 'ExternalName' && after.type !== 'ExternalName' && before.clusterIP) {
    checks.immutable('spec.clusterIP', after.clusterIP, before.clusterIP);
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

export function validateEndpointSlice(slice: Loose): FieldError[] {
  const checks = new Checks();
  if (checks.required('addressType', slice.addressType)) {
    checks.oneOf('addressType', slice.addressType, ADDRESS_TYPES);
  }
  const endpoints = mapsOf(slice.endpoints);
  if (endpoints.length > MOST_ENDPOINTS) {
    checks.add(invalid('endpoints', endpoints.length, `must have at most ${MOST_ENDPOINTS} items`));
  }
  for (const [index, endpoint] of endpoints.entries()) {
    const field = `${at('endpoints', index)}.addresses`;
    const addresses = stringsOf(endpoint.addresses);
    if (addresses.length === 0) checks.add(required(field, 'must contain at least 1 address'));
    if (slice.addressType === 'FQDN') continue;
    for (const [position, address] of addresses.entries()) checkAddress(checks, at(field, position), address);
  }
  const ports = mapsOf(slice.ports);
  for (const [index, port] of ports.entries()) {
    const field = at('ports', index);
    if (port.port !== undefined && port.port !== null) checkPort(checks, `${field}.port`, port.port);
    checks.oneOf(`${field}.protocol`, port.protocol, PROTOCOLS);
  }
  checks.unique(
    'ports',
    ports.map(({ name }) => name),
    (index) => `${at('ports', index)}.name`,
  );
  return checks.errors;
}

export function validateEndpointSliceUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('addressType', next.addressType, current.addressType);
  return checks.errors;
}
