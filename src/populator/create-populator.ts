// The loop of a volume populator, compatible with kubernetes-csi's lib-volume-populator: same names, finalizer, annotation
// and events. Watches claims, their sources, classes, volumes and its own pods; writes the finalizer of claims, prime claims
// and pods in its namespace, the claimRef of prime claims' volumes, and Events.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  referenceGrants,
  storageClasses,
} from '../api/kinds.ts';
import { type KubeObject, keyOf, type Resource } from '../api/object.ts';
import { foreignNamespaceOf, isGranted } from '../api/reference-grants.ts';
import { refersToClaim, storageClassOf } from '../api/volumes.ts';
import { errorMessage } from '../runtime/error-message.ts';
import type { EventRecorder } from '../runtime/events/create-event-recorder.ts';
import type { Informers } from '../runtime/informer/informer.ts';
import { addFinalizer, removeFinalizer } from '../runtime/kube/finalizers.ts';
import { ifThere } from '../runtime/kube/if-there.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isAlreadyExists } from '../runtime/kube/kube-error.ts';
import type { Runnable } from '../runtime/process/together.ts';
import { createLoop, type LoopPorts } from '../runtime/queue/create-loop.ts';
import { done, failed, type Outcome, type Run, requeueAfter } from '../runtime/queue/loop.ts';
import { decidePopulation, type PopulationStep } from './decide-population.ts';
import { createOrphans } from './delete-orphans.ts';
import {
  claimUidIn,
  finalizerOf,
  type PopulatorDefinition,
  podNameOf,
  populatedFromOf,
  populatesOf,
  primeNameOf,
} from './populator-definition.ts';
import { populatorMetrics } from './populator-metrics.ts';
import { populatorPod, primeClaim } from './populator-objects.ts';

export interface PopulatorPorts extends LoopPorts {
  kube: KubeClient;
  /** Started by the caller, after the populator was created. */
  informers: Informers;
  recorder: EventRecorder;
}

/** The operation of a claim that has a backoff of its own. */
const POD = 'pod';
/** A prime claim or pod that ends before the caches show it gives no event. */
const UNSEEN_AFTER_MS = 60_000;
const BY_UID = 'populator/by-uid';
const BY_CLASS = 'populator/unbound-by-class';
const BY_SOURCE = 'populator/unbound-by-source';
const BY_NAMESPACE = 'populator/unbound-by-source-namespace';

export function createPopulator<S extends KubeObject>(
  ports: PopulatorPorts,
  definition: PopulatorDefinition<S>,
): Runnable {
  const { kube, informers, recorder } = ports;
  const { namespace, populate } = definition;
  const populates = populatesOf(definition);
  const log = ports.log.with({ populator: definition.prefix });
  const metrics = populatorMetrics(ports);
  const claims = informers.of(persistentVolumeClaims);
  const podCache = informers.of(pods, { namespace });
  const volumes = informers.of(persistentVolumes);
  const classes = informers.of(storageClasses);
  const sources = informers.of({ ...definition.source, namespaced: true } as Resource<S>);
  const grants = definition.crossNamespace ? informers.of(referenceGrants, { optional: true }) : undefined;
  const isOpen = (claim: PersistentVolumeClaim) => !claim.spec.volumeName && !!claim.spec.dataSourceRef;
  const sourceNamespaceOf = (claim: PersistentVolumeClaim) =>
    foreignNamespaceOf(claim) ?? claim.metadata.namespace ?? '';
  const sourceKeyOf = (claim: PersistentVolumeClaim) =>
    `${sourceNamespaceOf(claim)}/${claim.spec.dataSourceRef?.name}`;
  claims.addIndex(BY_UID, ({ metadata }) => [metadata.uid]);
  const orphans = createOrphans({ kube, log, claims, pods: podCache }, definition);
  claims.addIndex(BY_CLASS, (claim) => (isOpen(claim) ? [storageClassOf(claim) ?? ''] : []));
  claims.addIndex(BY_SOURCE, (claim) => (isOpen(claim) ? [sourceKeyOf(claim)] : []));
  claims.addIndex(BY_NAMESPACE, (claim) => (isOpen(claim) ? [sourceNamespaceOf(claim)] : []));

  /** By claim, the UID of the pod that failed last: the cache may go on to show it when it is deleted. */
  const counted = new Map<string, string>();

  const loop = createLoop({
    ...ports,
    log,
    name: 'populator',
    backoff: { startMs: 1_000, maxMs: 300_000 },
    reconcile,
  });

  async function reconcile(key: string, run: Run): Promise<Outcome> {
    const claim = claims.get(key);
    await orphans.deleteFor(key, run.signal);
    const step = decide(claim);
    if (claim === undefined || step.do === 'nothing') return done;
    if (step.do !== 'protect') return perform(step, claim, run);
    const resource = persistentVolumeClaims;
    const finalizer = finalizerOf(definition);
    const object = await ifThere(
      addFinalizer({ kube, resource, object: claim, finalizer, needsAnswer: true, signal: run.signal }),
    );
    if (object === undefined) return done;
    metrics.started(claim.metadata.uid);
    const next = decide(object);
    return next.do === 'protect' || next.do === 'nothing' ? done : perform(next, object, run);
  }

  function decide(claim: PersistentVolumeClaim | undefined): PopulationStep<S> {
    if (claim === undefined) return { do: 'nothing' };
    const { uid } = claim.metadata;
    return decidePopulation({
      definition,
      claim,
      source: sources.get(sourceKeyOf(claim)),
      isGranted: grants !== undefined && isGranted(claim, grants.list()),
      storageClass: classes.get(storageClassOf(claim) ?? ''),
      prime: claims.get(`${namespace}/${primeNameOf(uid)}`),
      pod: podCache.get(`${namespace}/${podNameOf(uid)}`),
    });
  }

  async function perform(
    step: Exclude<PopulationStep<S>, { do: 'nothing' | 'protect' }>,
    claim: PersistentVolumeClaim,
    { signal, retries }: Run,
  ): Promise<Outcome> {
    const { uid } = claim.metadata;
    const warn = (reason: string, message: string) => recorder.event(claim, 'Warning', reason, message);
    const tell = (reason: string, message: string) => recorder.event(claim, 'Normal', reason, message);
    const reporting = async <T>(reason: string, what: string, work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        if (!signal.aborted) warn(reason, `${what}: ${errorMessage(error)}`);
        throw error;
      }
    };
    switch (step.do) {
      case 'wait':
        log.v(4).info('A claim waits', { claim: keyOf(claim), why: step.why });
        if (step.event) warn(step.event.reason, step.event.message);
        return done;
      case 'create-prime': {
        const draft = primeClaim(claim, { namespace, nodeName: step.nodeName, populates });
        const work = unlessThere(kube.create(persistentVolumeClaims, draft, { signal }));
        await reporting('PopulatorPVCPrimeCreationError', 'Failed to create populator pvcPrime', work);
        return requeueAfter(UNSEEN_AFTER_MS, 'its prime claim may end unseen');
      }
      case 'create-pod': {
        if (!('image' in populate)) return done;
        const waitMs = retries.waitMs({ operation: POD });
        if (waitMs > 0) return requeueAfter(waitMs, 'its populator pod failed');
        const placed = { namespace, nodeName: step.nodeName, populates };
        const create = async () =>
          unlessThere(kube.create(pods, populatorPod(claim, step.source, populate, placed), { signal }));
        const isNew = await reporting('PopulatorCreationError', 'Failed to create populator pod', create());
        if (isNew) tell('PopulatorCreated', 'Populator started');
        return requeueAfter(UNSEEN_AFTER_MS, 'its populator pod may end unseen');
      }
      case 'delete-failed-pod': {
        if (counted.get(uid) !== step.uid) {
          warn('PopulatorFailed', `Populator failed: ${step.why}`);
          // Of its own, because the runs that create the next pod and wait for it are no failures.
          retries.failed({ operation: POD });
          counted.set(uid, step.uid);
        }
        await ifThere(
          kube.delete(
            pods,
            { name: podNameOf(uid), namespace },
            { preconditions: { uid: step.uid }, signal },
          ),
        );
        // The cache shows when it is gone, and that wakes.
        return done;
      }
      case 'call-functions': {
        if (!('start' in populate)) return done;
        const storageClass = classes.get(storageClassOf(claim) ?? '');
        const common = { kube, recorder, claim, primeName: primeNameOf(uid), signal };
        const population = { ...common, source: step.source, storageClass };
        const starting = populate.start(population);
        await reporting('PopulateOperationStartError', 'Failed to start populate operation', starting);
        const asking = populate.isComplete(population);
        const isComplete = await reporting('PopulateOperationFailed', 'Population operation failed', asking);
        if (!isComplete) return failed({ why: 'its data is not complete yet', quiet: true });
        tell('PopulateOperationFinished', 'Populate operation finished');
        return rebind(claim, signal);
      }
      case 'rebind':
        return rebind(claim, signal);
      case 'clean-up': {
        retries.succeeded(POD);
        counted.delete(uid);
        if ('cleanUp' in populate)
          await populate.cleanUp?.({ kube, recorder, claim, primeName: primeNameOf(uid), signal });
        // By their names, whatever the caches show.
        await ifThere(kube.delete(pods, { name: podNameOf(uid), namespace }, { signal }));
        await ifThere(kube.delete(persistentVolumeClaims, { name: primeNameOf(uid), namespace }, { signal }));
        if (step.isFinished) tell('PopulatorFinished', 'Populator finished');
        metrics.ended(uid, step.isFinished);
        const finalizer = finalizerOf(definition);
        await removeFinalizer({ kube, resource: persistentVolumeClaims, object: claim, finalizer, signal });
        return done;
      }
      default:
        return step satisfies never;
    }
  }

  /** Points the volume at the user's claim; the binder does the rest. */
  async function rebind(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<Outcome> {
    const prime = claims.get(`${namespace}/${primeNameOf(claim.metadata.uid)}`);
    const volumeName = prime?.spec.volumeName;
    if (!volumeName) return failed({ why: 'its prime claim is gone', quiet: true });
    const volume = await ifThere(kube.get(persistentVolumes, { name: volumeName }, { signal }));
    if (volume === undefined) return requeueAfter(1_000, `volume ${volumeName} is not there`);
    if (refersToClaim(volume.spec.claimRef, claim)) return done;
    const { uid } = claim.metadata;
    const { claimRef } = volume.spec;
    if (claimRef?.namespace !== namespace || claimRef.name !== primeNameOf(uid))
      return failed({
        why: `volume ${volumeName} belongs to claim ${claimRef?.namespace}/${claimRef?.name}, not to the prime claim`,
      });
    // Deleted with an earlier prime claim of that name, for example: the data would go with it.
    const isBound = claimRef.uid === prime.metadata.uid && volume.status?.phase === 'Bound';
    if (!isBound || volume.metadata.deletionTimestamp !== undefined)
      return failed({ why: `volume ${volumeName} is not bound to the prime claim`, quiet: true });
    const from = `${sourceNamespaceOf(claim)}/${claim.spec.dataSourceRef?.name}`;
    await kube.patch(
      persistentVolumes,
      { name: volumeName },
      {
        metadata: {
          uid: volume.metadata.uid,
          resourceVersion: volume.metadata.resourceVersion,
          annotations: { [populatedFromOf(definition)]: from },
        },
        spec: {
          claimRef: {
            namespace: claim.metadata.namespace,
            name: claim.metadata.name,
            uid,
            resourceVersion: claim.metadata.resourceVersion,
          },
        },
      },
      { type: 'merge', signal },
    );
    log.info('Bound a populated volume to its claim', { claim: keyOf(claim), volume: volumeName });
    return done;
  }

  function listen(): (() => void)[] {
    const add = (claim: PersistentVolumeClaim) => loop.add(keyOf(claim));
    const addFor = (name: string) => {
      for (const claim of claims.byIndex(BY_UID, claimUidIn(name) ?? '')) add(claim);
    };
    /** Also where it is gone. */
    const addOwner = (object: KubeObject) => {
      const key = orphans.claimKeyOf(object);
      if (key !== undefined) loop.add(key);
    };
    const follow = <T extends KubeObject>(look: (object: T) => void) => ({
      added: look,
      updated: (_before: T, after: T) => look(after),
      deleted: look,
    });
    const all = (index: string, value: string) => {
      for (const claim of claims.byIndex(index, value)) add(claim);
    };
    return [
      claims.subscribe(
        follow((claim) => {
          if (claim.metadata.namespace === namespace) addFor(claim.metadata.name);
          else add(claim);
          addOwner(claim);
        }),
      ),
      podCache.subscribe(
        follow((pod) => {
          addFor(pod.metadata.name);
          addOwner(pod);
        }),
      ),
      volumes.subscribe(
        follow(({ spec: { claimRef } }) => {
          if (claimRef?.namespace === namespace) addFor(claimRef.name ?? '');
        }),
      ),
      classes.subscribe(follow(({ metadata }) => all(BY_CLASS, metadata.name))),
      sources.subscribe(follow((source) => all(BY_SOURCE, keyOf(source)))),
      ...(grants
        ? [grants.subscribe(follow(({ metadata }) => all(BY_NAMESPACE, metadata.namespace ?? '')))]
        : []),
    ];
  }

  return {
    async run(signal) {
      await Promise.all(
        [claims, podCache, volumes, classes, sources, ...(grants ? [grants] : [])].map((cache) =>
          cache.synced(signal),
        ),
      );
      const stops = listen();
      try {
        await loop.run(signal);
      } finally {
        for (const stop of stops) stop();
      }
    },
  };
}

/** False when it existed already. */
async function unlessThere(creation: Promise<unknown>): Promise<boolean> {
  try {
    await creation;
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}
