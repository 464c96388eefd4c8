// The OpenAPI paths of a kind: kubectl reads them to find the parameters of a verb and the patch types of a kind.

import { apiVersionOf } from '../../api/object.ts';
import { setOwn } from '../../api/own-property.ts';
import { definitionNameOf } from '../builtin-schema/builtin-schema.ts';
import { describeSubresource } from '../discovery/discovery.ts';
import type { Kind } from '../kind.ts';
import type { OpenApiVersion } from './export-schema.ts';

interface Parameter {
  name: string;
  in: 'query' | 'path';
  type: 'string' | 'boolean' | 'integer';
  required?: boolean;
  description?: string;
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});

const DRY_RUN = query('dryRun', 'string', 'All: process the request but change nothing.');
const FIELD_MANAGER = query('fieldManager', 'string', 'Name of who makes the change.');
const FIELD_VALIDATION = query(
  'fieldValidation',
  'string',
  'What to do about unknown and repeated fields: Ignore, Warn or Strict.',
);
const FORCE = query('force', 'boolean', 'Take fields that other managers own (apply patches).');
const PRETTY = query('pretty', 'string', 'Indent the answer.');
const LIST: Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'Send bookmarks.'),
  query('continue', 'string', 'Where the previous page ended.'),
  query('fieldSelector', 'string', 'Limits by fields.'),
  query('labelSelector', 'string', 'Limits by labels.'),
  query('limit', 'integer', 'Most objects in one answer.'),
  query('resourceVersion', 'string', 'Version to read or watch from.'),
  query('resourceVersionMatch', 'string', 'How that version is meant.'),
  query('sendInitialEvents', 'boolean', 'Begin a watch with the present state.'),
  query('timeoutSeconds', 'integer', 'How long the call may last.'),
  query('watch', 'boolean', 'Watch instead of list.'),
];
const DELETE: Parameter[] = [
  DRY_RUN,
  query('gracePeriodSeconds', 'integer', 'Seconds before the object is removed.'),
  query('propagationPolicy', 'string', 'Orphan, Background or Foreground.'),
];
const WRITE: Parameter[] = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
];
const STRATEGIC = 'application/strategic-merge-patch+json';

interface Verb {
  method: string;
  action: string;
  verb: string;
  parameters: Parameter[];
  hasBody?: boolean;
}

const COLLECTION: Verb[] = [
  { method: 'get', action: 'list', verb: 'list', parameters: LIST },
  { method: 'post', action: 'post', verb: 'create', parameters: WRITE, hasBody: true },
  {
    method: 'delete',
    action: 'deletecollection',
    verb: 'deletecollection',
    parameters: [...LIST, ...DELETE],
  },
];
const ITEM: Verb[] = [
  { method: 'get', action: 'get', verb: 'get', parameters: [] },
  { method: 'put', action: 'put', verb: 'update', parameters: WRITE, hasBody: true },
  { method: 'patch', action: 'patch', verb: 'patch', parameters: [...WRITE, FORCE], hasBody: true },
  { method: 'delete', action: 'delete', verb: 'delete', parameters: DELETE },
];

/** All paths of one kind; `ref` references its definition. */
export function pathsOf(kind: Kind, ref: object, version: OpenApiVersion): Record<string, object> {
  const root = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
  const base = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`;
  const paths: Record<string, object> = {};
  const add = (path: string, verbs: readonly Verb[], of: Kind, allowed: readonly string[]): void => {
    const item = pathItem(
      verbs.filter(({ verb }) => allowed.includes(verb)),
      { kind: of, ref, version, path },
    );
    if (Object.keys(item).length > 1) setOwn(paths, path, item);
  };
  add(base, COLLECTION, kind, kind.verbs);
  add(`${base}/{name}`, ITEM, kind, kind.verbs);
  if (kind.namespaced) add(`${root}/${kind.plural}`, COLLECTION.slice(0, 1), kind, kind.verbs);
  for (const subresource of kind.subresources) {
    const { kind: answer, verbs } = describeSubresource(kind, subresource);
    const post = COLLECTION.filter(({ verb }) => verb === 'create');
    add(`${base}/{name}/${subresource}`, [...ITEM, ...post], { ...kind, ...answer }, verbs);
  }
  return paths;
}

interface PathContext {
  kind: Kind;
  ref: object;
  version: OpenApiVersion;
  path: string;
}

function pathItem(verbs: readonly Verb[], context: PathContext): Record<string, unknown> {
  const item: Record<string, unknown> = {};
  for (const verb of verbs) setOwn(item, verb.method, operation(verb, context));
  const inPath = ['namespace', 'name'].filter((name) => context.path.includes(`{${name}}`));
  const shared = inPath.map((name): Parameter => ({ name, in: 'path', type: 'string', required: true }));
  item.parameters = [...shared, PRETTY].map((each) => shown(each, context.version));
  return item;
}

function operation(
  { method, action, parameters, hasBody }: Verb,
  { kind, ref, version, path }: PathContext,
): object {
  const types = method === 'patch' ? patchTypes(kind) : ['application/json', 'application/yaml'];
  const schema = method === 'patch' ? { type: 'object' } : ref;
  const body = version === 'v2' ? { name: 'body', in: 'body', required: true, schema } : undefined;
  const content = Object.fromEntries(types.map((type) => [type, { schema }]));
  const identity = path.replace(/[^A-Za-z0-9]+(.)?/g, (_, next: string = '') => next.toUpperCase());
  return {
    operationId: `${action}${identity}`,
    ...(version === 'v2' ? { consumes: types, produces: ['application/json'] } : {}),
    parameters: [...(hasBody && body ? [body] : []), ...parameters.map((each) => shown(each, version))],
    ...(hasBody && version === 'v3' ? { requestBody: { content, required: true } } : {}),
    responses: {
      200:
        version === 'v2'
          ? { description: 'OK', schema: ref }
          : { description: 'OK', content: { 'application/json': { schema: ref } } },
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: kind.group, kind: kind.kind, version: kind.version },
  };
}

/** Only built-in kinds have merge keys. */
function patchTypes(kind: Kind): string[] {
  return definitionNameOf(kind.schema()) ? [...PATCH_TYPES, STRATEGIC] : PATCH_TYPES;
}

function shown({ type, ...rest }: Parameter, version: OpenApiVersion): object {
  return version === 'v2'
    ? { ...rest, type, uniqueItems: true }
    : { ...rest, schema: { type, uniqueItems: true } };
}
