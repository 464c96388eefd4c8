// Watches CustomResourceDefinitions: accepts their names, serves their kinds once they are established, and deletes all
// objects of one that is being deleted before its finalizer is removed. Writes only CRD status and finalizer.

import { type CustomResourceDefinition, customResourceDefinitions } from '../../api/kinds.ts';
import { sameJson } from '../../api/same-json.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Log } from '../../runtime/ports.ts';
import type { Kind } from '../kind.ts';
import type { Reader, User } from '../pipeline.ts';
import type { Plan } from '../storage/store.ts';
import type { Version } from '../storage/version.ts';
import { timestamp } from '../timestamp.ts';
import { storageTypeOf } from '../verbs/presentation.ts';
import type { Machine } from '../verbs/request.ts';
import { notFound } from '../verbs/status.ts';
import { deleteOne } from '../verbs/write/delete.ts';
import { isFinished } from '../verbs/write/deletion.ts';
import { definitionStatus, isEstablished, namesTakenBy, type TakenNames } from './definition-status.ts';

const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';
const TYPE = storageTypeOf(customResourceDefinitions);
const SYSTEM: User = { name: 'system:apiserver', groups: ['system:masters'] };

/**
 * Serves the stored definitions, then follows changes. `isSettled`: no work is in flight. Returns a function that stops
 * it.
 */
export function followCustomResources(
  machine: Machine,
  reader: Reader,
  { isSettled }: { isSettled: boolean },
): () => void {
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
      // The deletion of its last object lets a terminating CRD be removed.
      const type = `${crd.spec.names.plural}.${crd.spec.group}`;
      if (!watched.has(name)) {
        const settle = () => void settled(machine, name, log);
        watched.set(
          name,
          store.subscribe(type, (change) => change.after === undefined && settle()),
        );
      }
    }
  };
  const changed = (crd: CustomResourceDefinition | undefined, name: string): void => {
    react(crd, name);
    if (crd) void settled(machine, name, log);
  };
  const atStart = isSettled ? react : changed;
  for (const crd of [...reader.list(customResourceDefinitions)]) atStart(crd, crd.metadata.name);
  const unsubscribe = store.subscribe(TYPE, ({ key, after }) =>
    changed(after?.object as CustomResourceDefinition | undefined, key),
  );
  return () => {
    unsubscribe();
    for (const end of watched.values()) end();
  };
}

/** Reconciles one CRD; a failure is retried at the CRD's next change. */
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
  if (!deleting) {
    crd.status = definitionStatus(crd, takenNames(machine, crd), timestamp(machine.clock.now()));
  }
  if (isFinished(crd, { group: '', plural: '' } as Kind)) return { kind: 'remove', object: crd };
  return sameJson(crd, current.object) ? { kind: 'keep', version: current } : { kind: 'put', object: crd };
}

/** Names of other definitions and of built-in kinds in the same group. */
function takenNames({ store, registry }: Machine, crd: CustomResourceDefinition): TakenNames {
  const others = [...store.range(TYPE, '')].map(({ object }) => object as CustomResourceDefinition);
  const { resources, kinds } = namesTakenBy(others, crd);
  const custom = new Set(others.map(({ spec }) => `${spec.names.plural}.${spec.group}`));
  const builtin = registry
    .all()
    .filter((kind) => kind.group === crd.spec.group && !custom.has(`${kind.plural}.${kind.group}`));
  return {
    resources: new Set([...resources, ...builtin.flatMap((kind) => [kind.plural, kind.singular])]),
    kinds: new Set([...kinds, ...builtin.flatMap((kind) => [kind.kind, `${kind.kind}List`])]),
  };
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
        await deleteOne(machine, request, {});
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }),
  );
}
