// The page's routes: the hash holds everything that a shared link restores. Pure.

import type { PodRow, State, SubjectKind, VolumeRow } from '../../page-messages.ts';

export const listViews = ['volumes', 'pods', 'nodes', 'drivers', 'snapshots', 'activity'] as const;
export type ListView = (typeof listViews)[number];

/** Filter and sort order of a list. Without `sort` the list's default order. */
export interface Query {
  readonly filter: string;
  readonly state: State | undefined;
  readonly sort: string | undefined;
  readonly isDescending: boolean;
}

export interface Subject {
  readonly kind: SubjectKind;
  readonly namespace?: string;
  readonly name: string;
}

export type Route =
  | { readonly view: 'list'; readonly list: ListView; readonly query: Query }
  | { readonly view: 'details'; readonly subject: Subject };

export const wholeList: Query = { filter: '', state: undefined, sort: undefined, isDescending: false };

/** Whether objects of the kind have a namespace. */
const NAMESPACED: Readonly<Record<SubjectKind, boolean>> = {
  claim: true,
  volume: false,
  pod: true,
  snapshot: true,
  group: true,
  node: false,
  driver: false,
  class: false,
};

/** As explanations name them. */
const KINDS: Readonly<Record<string, SubjectKind>> = {
  PersistentVolumeClaim: 'claim',
  PersistentVolume: 'volume',
  Pod: 'pod',
  VolumeSnapshot: 'snapshot',
  VolumeGroupSnapshot: 'group',
  Node: 'node',
  CSIDriver: 'driver',
  driver: 'driver',
  StorageClass: 'class',
};

export const listRoute = (list: ListView, query: Partial<Query> = {}): Route => ({
  view: 'list',
  list,
  query: { ...wholeList, ...query },
});

export const detailsRoute = (subject: Subject): Route => ({ view: 'details', subject });

export const routeOfVolume = ({
  subject,
  namespace,
  name,
}: Pick<VolumeRow, 'subject' | 'namespace' | 'name'>): Route =>
  detailsRoute({ kind: subject, name, ...(namespace === undefined ? {} : { namespace }) });

export const routeOfPod = ({ namespace, name }: Pick<PodRow, 'namespace' | 'name'>): Route =>
  detailsRoute({ kind: 'pod', namespace, name });

/** Any unknown address is the list of volumes. */
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s);
  const parts = path.split('/').map(decoded);
  const [first = '', second, third] = parts;
  const list = listViews.find((view) => view === first);
  if (list !== undefined && parts.length === 1) return listRoute(list, parseQuery(search));
  if (!Object.hasOwn(NAMESPACED, first)) return listRoute('volumes');
  const kind = first as SubjectKind;
  if (NAMESPACED[kind] && second && third && parts.length === 3) {
    return detailsRoute({ kind, namespace: second, name: third });
  }
  if (!NAMESPACED[kind] && second && parts.length === 2) return detailsRoute({ kind, name: second });
  return listRoute('volumes');
}

export function formatRoute(route: Route): string {
  if (route.view === 'details') {
    const { kind, namespace, name } = route.subject;
    const parts = namespace === undefined ? [kind, name] : [kind, namespace, name];
    return `#/${parts.map(encodeURIComponent).join('/')}`;
  }
  const { filter, state, sort, isDescending } = route.query;
  const search = new URLSearchParams();
  if (filter !== '') search.set('filter', filter);
  if (state !== undefined) search.set('state', state);
  if (sort !== undefined) search.set('sort', sort);
  if (sort !== undefined && isDescending) search.set('order', 'desc');
  return `#/${route.list}${search.size === 0 ? '' : `?${search}`}`;
}

/** The route of a link's object, if it has a page: `PersistentVolumeClaim ns/data`, `Node node-1`. */
export function routeOfChainSubject(subject: string): Route | undefined {
  const [, word = '', first, second] = /^(\w+) ([^\s/]+)(?:\/([^\s/]+))?$/.exec(subject) ?? [];
  const kind = Object.hasOwn(KINDS, word) ? KINDS[word] : undefined;
  if (kind === undefined || first === undefined || NAMESPACED[kind] !== (second !== undefined))
    return undefined;
  return detailsRoute(
    second === undefined ? { kind, name: first } : { kind, namespace: first, name: second },
  );
}

function parseQuery(text: string): Query {
  const search = new URLSearchParams(text);
  const state = search.get('state');
  return {
    filter: search.get('filter') ?? '',
    state: state === 'ok' || state === 'waits' || state === 'stuck' ? state : undefined,
    sort: search.get('sort') ?? undefined,
    isDescending: search.get('order') === 'desc',
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Typed by hand and malformed: names no object.
    return part;
  }
}
