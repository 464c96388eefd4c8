// The columns of Services, their endpoints, and of the classes that pods name.

import type { Column } from '../kind.ts';
import { type Loose, mapsOf, stringOf, stringsOf } from '../kinds/loose.ts';
import { ageColumn, column, nameColumn, wide } from './column.ts';
import { selectorText } from './other-columns.ts';

const NONE = '<none>';
const UNSET = '<unset>';

function externalAddresses({ spec, status }: Loose): string {
  const external = stringsOf(spec?.externalIPs);
  switch (spec?.type) {
    case 'ExternalName':
      return stringOf(spec.externalName) || NONE;
    case 'LoadBalancer': {
      const ingress = mapsOf(status?.loadBalancer?.ingress).map(
        ({ ip, hostname }) => stringOf(ip) || stringOf(hostname),
      );
      return [...ingress, ...external].join(',') || '<pending>';
    }
  }
  return external.join(',') || NONE;
}

function servicePorts({ spec }: Loose): string {
  const ports = mapsOf(spec?.ports).map(
    ({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`,
  );
  return ports.join(',') || NONE;
}

export const serviceColumns: readonly Column[] = [
  nameColumn,
  column('Type', (service) => service.spec?.type),
  column('Cluster-IP', (service) => service.spec?.clusterIP || NONE),
  column('External-IP', externalAddresses),
  column('Port(s)', servicePorts),
  ageColumn,
  wide('Selector', (service) => {
    const { selector } = service.spec ?? {};
    return selector ? selectorText({ matchLabels: selector }) : NONE;
  }),
];

/** As many as fit a terminal; the rest are counted. */
const MOST_SHOWN = 3;

function shortList(all: readonly string[], whenEmpty: string): string {
  if (all.length === 0) return whenEmpty;
  const rest = all.length - MOST_SHOWN;
  return all.slice(0, MOST_SHOWN).join(',') + (rest > 0 ? ` + ${rest} more...` : '');
}

export const endpointsColumns: readonly Column[] = [
  nameColumn,
  column('Endpoints', (endpoints) =>
    shortList(
      mapsOf(endpoints.subsets).flatMap(({ addresses, ports }) =>
        mapsOf(addresses).flatMap(({ ip }) => {
          const each = mapsOf(ports).map(({ port }) => `${ip}:${port}`);
          return each.length > 0 ? each : [stringOf(ip)];
        }),
      ),
      NONE,
    ),
  ),
  ageColumn,
];

export const endpointSliceColumns: readonly Column[] = [
  nameColumn,
  column('AddressType', (slice) => slice.addressType),
  column('Ports', (slice) =>
    shortList(
      mapsOf(slice.ports).map(({ port }) => String(port ?? '*')),
      UNSET,
    ),
  ),
  column('Endpoints', (slice) =>
    shortList(
      mapsOf(slice.endpoints).flatMap(({ addresses }) => stringsOf(addresses)),
      UNSET,
    ),
  ),
  ageColumn,
];

export const priorityClassColumns: readonly Column[] = [
  nameColumn,
  column('Value', (priorityClass) => priorityClass.value, { type: 'integer' }),
  column('Global-Default', (priorityClass) => priorityClass.globalDefault === true, { type: 'boolean' }),
  ageColumn,
  column('PreemptionPolicy', (priorityClass) => priorityClass.preemptionPolicy),
];

export const runtimeClassColumns: readonly Column[] = [
  nameColumn,
  column('Handler', (runtimeClass) => runtimeClass.handler),
  ageColumn,
];
