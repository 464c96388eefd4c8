// Follows CustomResourceDefinitions: accepts their names, serves what they define from the moment they are
// established, and when one is deleted removes its objects before it lets it go. Writes only CRD status and finalizer.

import { type CustomResourceDefinition, customResourceDefinitions } from '../api/kinds.ts';
import { isNotFound } from '../runtime/kube-error.ts';
import type { Log } from '../runtime/ports.ts';
import type { Kind } from './kind.ts';
import type { Reader, User } from './pipeline.ts';
import type { Plan } from './storage/store.ts';
import type { Version } from './storage/version.ts';
import { deleteAuthorized } from './verbs/delete.ts';
import { isFinished } from './verbs/deletion.ts';
import { jsonEqual } from './verbs/json-equal.ts';
import { storageTypeOf } from './verbs/presentation.ts';
import type { Machine } from './verbs/request.ts';
import { notFound } from './verbs/status.ts';
import { timestamp } from './verbs/timestamp.ts';

const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';
const TYPE = storageTypeOf(customResourceDefinitions);
const SYSTEM: User = { name: 'system:apiserver', groups: ['system:masters'] };

/** Serves what is stored already, then follows. Returns the function that ends it. */
export function followCustomResources(machine: Machine, reader: Reader): () => void {
  const { store, registry, log } = machine;
  const watched = new Map<string, () => void>();

  const react = (crd: CustomResourceDefinition | undefined, name: string): void => {
    if (crd === undefined) {
      registry.removeCustom(name);
      watched.get(name)?.();
      watched.delete(name);
      return;
    }
    if (isEstablished(crd)) {
      registry.addCustom(crd);
      // The last object of a CRD that is going away lets it go.
      const type = `${crd.spec.names.plural}.${crd.spec.group}`;
      if (!watched.has(name)) {
        const settle = () => void settled(machine, name, log);
        watched.set(
          name,
          store.subscribe(type, (change) => change.after === undefined && settle()),
        );
      }
    }
    void settled(machine, name, log);
  };
  for (const crd of [...reader.list(customResourceDefinitions)]) react(crd, crd.metadata.name);
  const unsubscribe = store.subscribe(TYPE, ({ key, after }) =>
    react(after?.object as CustomResourceDefinition | undefined, key),
  );
  return () => {
    unsubscribe();
    for (const end of watched.values()) end();
  };
}

/** Brings one CRD to where it should be; what fails is tried again at the CRD's next change. */
async function settled(machine: Machine, name: string, log: Log): Promise<void> {
  try {
    const version = machine.store.get(TYPE, name);
    const crd = version?.object as CustomResourceDefinition | undefined;
    if (crd === undefined) return;
    if (crd.metadata.deletionTimestamp !== undefined) await removeInstances(machine, crd);
    await machine.store.write(TYPE, name, (current) => planStatus(machine, current));
  } catch (error) {
    if (!isNotFound(error) && machine.store.failure === undefined) {
      log.error('a custom resource definition could not be settled', error, { name });
    }
  }
}

function planStatus(machine: Machine, current: Version | undefined): Plan {
  if (current === undefined) throw notFound(customResourceDefinitions, '');
  const crd = current.copy() as CustomResourceDefinition;
  const { metadata, spec } = crd;
  const finalizers = metadata.finalizers ?? [];
  const deleting = metadata.deletionTimestamp !== undefined;
  if (deleting) {
    const empty = machine.store.count(`${spec.names.plural}.${spec.group}`) === 0;
    if (empty) metadata.finalizers = finalizers.filter((each) => each !== CLEANUP_FINALIZER);
  } else if (!finalizers.includes(CLEANUP_FINALIZER)) {
    metadata.finalizers = [...finalizers, CLEANUP_FINALIZER];
  }
  if (!deleting) crd.status = statusOf(machine, crd) as NonNullable<CustomResourceDefinition['status']>;
  if (isFinished(crd, { group: '', plural: '' } as Kind)) return { kind: 'remove', object: crd };
  return jsonEqual(crd, current.object) ? { kind: 'keep', version: current } : { kind: 'put', object: crd };
}

interface Condition {
  type: string;
  status: string;
  lastTransitionTime?: string;
  reason?: string;
  message?: string;
}

function statusOf(machine: Machine, crd: CustomResourceDefinition): object {
  const { spec, status } = crd;
  const taken = namesTakenBy(machine, crd);
  const accepted = taken === undefined;
  const before = (status?.conditions ?? []) as Condition[];
  const condition = (type: string, holds: boolean, reason: string, message: string): Condition => {
    const known = before.find((each) => each.type === type);
    const value = holds ? 'True' : 'False';
    if (known?.status === value && known.reason === reason) return known;
    const lastTransitionTime = timestamp(machine.clock.now());
    return { type, status: value, lastTransitionTime, reason, message };
  };
  const established = accepted || isEstablished(crd);
  const storage = spec.versions.filter((each) => each.storage).map((each) => each.name);
  return {
    ...status,
    conditions: [
      condition(
        'NamesAccepted',
        accepted,
        accepted ? 'NoConflicts' : 'NameConflict',
        accepted ? 'no conflicts found' : `the names are in use by ${taken}`,
      ),
      condition(
        'Established',
        established,
        established ? 'InitialNamesAccepted' : 'NotAccepted',
        established ? 'the initial names have been accepted' : 'not all names are accepted',
      ),
    ],
    acceptedNames: accepted
      ? { ...spec.names, listKind: spec.names.listKind ?? `${spec.names.kind}List` }
      : (status?.acceptedNames ?? { plural: '', kind: '' }),
    storedVersions: [...new Set([...(status?.storedVersions ?? []), ...storage])],
  };
}

/** Another kind of the same group with one of the names. */
function namesTakenBy({ registry }: Machine, crd: CustomResourceDefinition): string | undefined {
  const { group, names } = crd.spec;
  if (isEstablished(crd)) return undefined;
  const other = registry
    .all()
    .find((kind) => kind.group === group && (kind.plural === names.plural || kind.kind === names.kind));
  return other === undefined ? undefined : `${other.plural}.${other.group}`;
}

async function removeInstances(machine: Machine, crd: CustomResourceDefinition): Promise<void> {
  const { group, names, versions } = crd.spec;
  const kind = versions.map(({ name }) => machine.registry.find(group, name, names.plural)).find(Boolean);
  if (kind === undefined) return;
  const instances = [...machine.store.range(storageTypeOf(kind), '')];
  await Promise.all(
    instances.map(async ({ object }) => {
      const { name, namespace, deletionTimestamp } = object.metadata;
      if (deletionTimestamp !== undefined) return;
      const request = {
        user: SYSTEM,
        kind,
        namespace,
        name,
        subresource: '' as const,
        dryRun: false,
        fieldManager: SYSTEM.name,
        fieldValidation: 'Ignore' as const,
        warn: () => {},
      };
      try {
        await deleteAuthorized(machine, request, {});
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }),
  );
}

export function isEstablished(crd: CustomResourceDefinition): boolean {
  return (
    crd.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false
  );
}
