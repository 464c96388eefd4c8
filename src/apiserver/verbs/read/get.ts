// Reads one object.

import type { Version } from '../../storage/version.ts';
import { present, storageTypeOf } from '../presentation.ts';
import { keyFor, type Machine, type ResourceRequest } from '../request.ts';
import { notFound, tooLargeResourceVersion, unclassified } from '../status.ts';

export function get(machine: Machine, request: ResourceRequest, resourceVersion?: string): Version {
  const { kind, namespace, name } = request;
  const asked = Number(resourceVersion ?? 0);
  if (Number.isNaN(asked)) throw unclassified(`resourceVersion: Invalid value: "${resourceVersion}"`);
  if (asked > machine.store.revision) throw tooLargeResourceVersion(asked, machine.store.revision);
  const version = machine.store.get(storageTypeOf(kind), keyFor(namespace, name));
  if (version === undefined) throw notFound(kind, name);
  return present(version, kind);
}
