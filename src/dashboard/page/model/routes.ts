// The page's routes: the hash holds everything that a shared link restores. Pure.

import type { PodRow, State, VolumeRow } from '../../page-messages.ts';

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
  readonly kind: 'claim' | 'volume' | 'pod';
  readonly namespace?: string;
  readonly name: string;
}

export type Route =
  | { readonly view: 'list'; readonly list: ListView; readonly query: Query }
  | { readonly view: 'details'; readonly subject: Subject };

export const wholeList: Query = { filter: '', state: undefined, sort: undefined, isDescending: false };

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
  const [first, second, third] = parts;
  const list = listViews.find((view) => view === first);
  if (list !== undefined && parts.length === 1) return listRoute(list, parseQuery(search));
  if ((first === 'claim' || first === 'pod') && second && third && parts.length === 3) {
    return detailsRoute({ kind: first, namespace: second, name: third });
  }
  if (first === 'volume' && second && parts.length === 2) {
    return detailsRoute({ kind: first, name: second });
  }
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

/** The route of a link's object, if it has a page: `PersistentVolumeClaim ns/data`. */
export function routeOfChainSubject(subject: string): Route | undefined {
  const [, kind, first, second] =
    /^(PersistentVolumeClaim|PersistentVolume|Pod) ([^\s/]+)(?:\/([^\s/]+))?$/.exec(subject) ?? [];
  if (kind === undefined || first === undefined) return undefined;
  if (kind === 'PersistentVolume') {
    return second === undefined ? detailsRoute({ kind: 'volume', name: first }) : undefined;
  }
  if (second === undefined) return undefined;
  return detailsRoute({ kind: kind === 'Pod' ? 'pod' : 'claim', namespace: first, name: second });
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
