// The metric labels of a request. All values come from closed sets, the served kinds and HTTP's methods, so that
// clients cannot create new series.

import type { IncomingMessage } from 'node:http';
import type { KindRegistry } from '../kind-registry.ts';
import { verbOf } from './handle-resource.ts';
import type { RequestInfo } from './request-info.ts';

export interface RequestLabels {
  verb: string;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  /** '' (no resource), 'resource', 'namespace' or 'cluster'. */
  scope: string;
}

const NO_RESOURCE = { group: '', version: '', resource: '', subresource: '', scope: '' };
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const VERBS = new Map([
  ['get', 'GET'],
  ['list', 'LIST'],
  ['watch', 'WATCH'],
  ['create', 'POST'],
  ['update', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETECOLLECTION'],
]);

export function labelsOf(
  registry: KindRegistry,
  message: IncomingMessage,
  info: RequestInfo | undefined,
): RequestLabels {
  const method = METHODS.find((known) => known === message.method) ?? 'other';
  const target = info?.target;
  if (info === undefined || target?.kind !== 'resource') return { verb: method, ...NO_RESOURCE };
  const { name, namespace, subresource } = target;
  const kind = registry.find(target.group, target.version, target.plural);
  const known = kind?.subresources.find((each) => each === subresource) ?? '';
  if (kind === undefined || known !== subresource) return { verb: method, ...NO_RESOURCE };
  const { group, version, plural: resource } = kind;
  const verb = VERBS.get(verbOf(method, target, info.query) ?? '') ?? method;
  const scope = name === '' ? (namespace === undefined ? 'cluster' : 'namespace') : 'resource';
  return { verb, group, version, resource, subresource: known, scope };
}
