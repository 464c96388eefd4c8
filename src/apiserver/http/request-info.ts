// Parses a URL as Kubernetes does: group, version, namespace, resource, name and subresource, or a non-resource path.
// Pure; does not depend on the registry of kinds.

export interface ResourcePath {
  readonly kind: 'resource';
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly plural: string;
  /** '' for the collection. */
  readonly name: string;
  readonly subresource: string;
  /** The older way to ask for a watch: `/api/v1/watch/…`. */
  readonly watches?: true;
}

export interface OtherPath {
  readonly kind: 'other';
}

export interface RequestInfo {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly target: ResourcePath | OtherPath;
}

const OTHER: OtherPath = { kind: 'other' };
const NO_QUERY = new URLSearchParams();

/** Undefined for a path that cannot be decoded. */
export function readRequestInfo(url: string): RequestInfo | undefined {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? NO_QUERY : new URLSearchParams(url.slice(mark + 1));
  try {
    return { path, query, target: readTarget(path) };
  } catch {
    return undefined;
  }
}

function readTarget(path: string): ResourcePath | OtherPath {
  const segments = path.split('/').slice(1);
  if (segments.at(-1) === '') segments.pop();
  let rest: string[];
  let group = '';
  let version: string;
  if (segments[0] === 'api' && segments.length > 2) {
    version = segments[1] as string;
    rest = segments.slice(2);
  } else if (segments[0] === 'apis' && segments.length > 3) {
    group = segments[1] as string;
    version = segments[2] as string;
    rest = segments.slice(3);
  } else {
    return OTHER;
  }
  rest = rest.map(decodeURIComponent);
  const watches = rest[0] === 'watch' && rest.length > 1;
  if (watches) rest = rest.slice(1);
  let namespace: string | undefined;
  // `namespaces/x` alone is the Namespace itself, and so are its subresources.
  if (rest[0] === 'namespaces' && rest.length > 2 && !isNamespaceSubresource(rest)) {
    namespace = rest[1];
    rest = rest.slice(2);
  }
  const [plural = '', name = '', subresource = '', ...excess] = rest;
  const isProxied = group === '' && plural === 'nodes' && subresource === 'proxy';
  if ((excess.length > 0 && !isProxied) || plural === '' || namespace === '') return OTHER;
  const target = { kind: 'resource', group, version, namespace, plural, name, subresource } as const;
  return watches ? { ...target, watches } : target;
}

function isNamespaceSubresource(rest: readonly string[]): boolean {
  return rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize');
}
