// Compares manifests with a cluster: which objects are missing, which differ in fields that the manifests set, and which are
// left over from an earlier deployment of the same names. Only reads: what an object would become is asked by a server-side
// dry-run apply.

import { apiVersionOf, type KubeObject, type Resource } from '../api/object.ts';
import { sameJson } from '../api/same-json.ts';
import { ifThere } from '../runtime/kube/if-there.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import type { Manifest } from './plan.ts';

export interface Finding {
  /** `deployment/name in namespace`. */
  object: string;
  state: 'same' | 'missing' | 'extra' | 'differs';
  /** For `differs`: each field with both values. For `missing`: a reason, if it is not just absent. */
  details: readonly string[];
}

export interface Comparison {
  wanted: readonly Manifest[];
  /** Objects of other shapes of the same deployment: those that exist and are not wanted are left over. */
  possible: readonly Manifest[];
  served: readonly Resource[];
  signal: AbortSignal;
}

export async function* compareWithCluster(kube: KubeClient, given: Comparison): AsyncGenerator<Finding> {
  const { wanted, possible, served, signal } = given;
  const resourceOf = (manifest: Manifest): Resource | undefined =>
    served.find((each) => each.kind === manifest.kind && apiVersionOf(each) === manifest.apiVersion);
  for (const manifest of wanted) {
    const object = describe(manifest);
    const resource = resourceOf(manifest);
    if (resource === undefined) {
      const details = [`the server has no kind ${manifest.kind} in ${manifest.apiVersion}`];
      yield { object, state: 'missing', details };
      continue;
    }
    const live = await ifThere(kube.get(resource, nameOf(manifest), { signal }));
    if (live === undefined) {
      yield { object, state: 'missing', details: [] };
      continue;
    }
    const details = await detailsOf(kube, { resource, live, manifest, signal });
    yield { object, state: details.length === 0 ? 'same' : 'differs', details };
  }
  const known = new Set(wanted.map(describe));
  for (const manifest of possible) {
    const object = describe(manifest);
    const resource = resourceOf(manifest);
    if (known.has(object) || resource === undefined) continue;
    known.add(object);
    const live = await ifThere(kube.get(resource, nameOf(manifest), { signal }));
    if (live !== undefined) yield { object, state: 'extra', details: [] };
  }
}

async function detailsOf(
  kube: KubeClient,
  given: { resource: Resource; live: KubeObject; manifest: Manifest; signal: AbortSignal },
): Promise<string[]> {
  const { resource, live, manifest, signal } = given;
  try {
    const applied = await kube.patch(resource, nameOf(manifest), manifest, {
      type: 'apply',
      // Its former applier also removes fields that the manifest no longer has.
      fieldManager: applierOf(live) ?? 'berth-manifests',
      force: true,
      dryRun: true,
      signal,
    });
    return [...differences(contentOf(live), contentOf(applied)), ...forgotten(live, manifest)];
  } catch (error) {
    if (!(error instanceof KubeError && error.reason === 'Invalid')) throw error;
    // Such as a field that is immutable: the object would have to be deleted first.
    return [`cannot be applied: ${error.message}`];
  }
}

const nameOf = ({ metadata: { name = '', namespace } }: Manifest) => ({
  name,
  ...(namespace && { namespace }),
});

function describe({ kind = '', metadata: { name, namespace } }: Manifest): string {
  return `${kind.toLowerCase()}/${name}${namespace ? ` in ${namespace}` : ''}`;
}

const applierOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.managedFields?.find(({ operation, subresource }) => operation === 'Apply' && !subresource)
    ?.manager;

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Without what every write changes, and without what others report. */
function contentOf(object: KubeObject): object {
  const { metadata, status: _, ...rest } = object as KubeObject & { status?: unknown };
  const { labels, annotations } = metadata;
  const { [LAST_APPLIED]: _applied, ...own } = annotations ?? {};
  return { ...rest, metadata: { ...(labels && { labels }), annotations: own } };
}

/** Fields that `kubectl apply` once set, that are still there, and that the manifest no longer has. */
function forgotten(live: KubeObject, manifest: Manifest): string[] {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  if (text === undefined) return [];
  return [...forgottenFields('', JSON.parse(text), manifest, live)];
}

function* forgottenFields(path: string, before: unknown, now: unknown, live: unknown): Generator<string> {
  const [old, next, present] = [fieldsOf(before), fieldsOf(now), fieldsOf(live)];
  if (old === undefined || next === undefined || present === undefined) return;
  for (const [name, value] of old) {
    if (path === '.metadata.annotations' || !present.has(name)) continue;
    const at = `${path}${name}`;
    if (!next.has(name)) {
      // An empty value says nothing.
      if (!isEmpty(value)) yield `${at.slice(1)}: ${shown(present.get(name))} in the cluster, not set here`;
    } else yield* forgottenFields(at, value, next.get(name), present.get(name));
  }
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** Fields of a map as `.name`, named elements of a list as `[name]`; undefined for anything else. */
function fieldsOf(value: unknown): Map<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return new Map(Object.entries(value).map(([name, each]) => [`.${name}`, each]));
  const names = value.map((each) => (each as { name?: unknown } | null)?.name);
  if (value.length === 0 || names.some((name) => typeof name !== 'string')) return undefined;
  return new Map(value.map((each, index) => [`[${names[index]}]`, each]));
}

function differences(live: unknown, applied: unknown, path = ''): string[] {
  if (sameJson(live ?? null, applied ?? null)) return [];
  const [before, after] = [fieldsOf(live), fieldsOf(applied)];
  if (before === undefined || after === undefined) {
    const cluster = live === undefined ? 'not set' : shown(live);
    return [
      `${path.slice(1)}: ${cluster} in the cluster, ${applied === undefined ? 'not set' : shown(applied)} here`,
    ];
  }
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) =>
    differences(before.get(name), after.get(name), `${path}${name}`),
  );
}

const MOST_SHOWN = 200;

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}
