// The resizer: watches claims and volumes, and runs two loops over claims, one for their size and one for their
// VolumeAttributesClass. Writes only what those loops write.

import { retryOf } from '../../api/asks-for-retry.ts';
import { expansionState, requestedSize, wantsExpansion } from '../../api/claim-expansion.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttributesClasses,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { ANN_PRE_RESIZE_CAPACITY } from '../../api/well-known.ts';
import { codeOf } from '../../csi/csi-error.ts';
import { nodeCapabilities } from '../../csi/messages/capabilities.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import type { Loop, Reconcile } from '../../runtime/queue/loop.ts';
import { uidKey } from '../../runtime/sharding/owner-keys.ts';
import { sharedReconcile } from '../../runtime/sharding/shares.ts';
import { every } from '../../runtime/time/every.ts';
import { inSlices } from '../../runtime/time/in-slices.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';
import { VolumeTurns } from '../common/volume-turns.ts';
import { ClaimWriter } from './claim-writer.ts';
import { controllerExpandCalls, nodeOnlyExpandCalls } from './expansion/expand-calls.ts';
import { expansionReconciler } from './expansion/expansion-reconciler.ts';
import { wantedClass, wantsModification } from './modification/decide-modification.ts';
import { modificationReconciler } from './modification/modification-reconciler.ts';
import { createModifyCalls } from './modification/modify-calls.ts';
import type { ResizerFlags } from './resizer-flags.ts';
import { VolumeWriter } from './volume-writer.ts';

/** A loop, the claims that concern it, and the state it drops with a claim. */
interface Work {
  loop: Loop;
  concerns(claim: PersistentVolumeClaim): boolean;
  /** The fields of a claim whose change enqueues it. */
  inputs(claim: PersistentVolumeClaim): string;
  forget(claim: PersistentVolumeClaim): void;
}

const BY_CLASS = 'wanted-attributes-class';

export function createResizer(ports: SidecarPorts, flags: ResizerFlags): Sidecar {
  const { kube, informers, driver, csi, clock, log, shares } = ports;
  const { timeoutMs, workers } = flags;
  if (!driver.plugin.services.has('CONTROLLER_SERVICE')) {
    throw new Error(`driver ${driver.name} has no controller service, so its volumes cannot be resized`);
  }
  const modifies = flags.featureGates.VolumeAttributesClass && driver.controller.has('MODIFY_VOLUME');
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  // Older servers do not have the kind.
  const classes = modifies ? informers.of(volumeAttributesClasses, { optional: true }) : undefined;

  const works: Work[] = [];
  const shared = {
    claims: new ClaimWriter(kube, claims),
    volumes: new VolumeWriter(kube, volumes),
    turns: new VolumeTurns((key) => {
      for (const { loop } of works) loop.add(key);
    }),
  };
  const backoff = { startMs: flags.retryIntervalStartMs, maxMs: flags.retryIntervalMaxMs };
  const loopOptions = { ...ports, workers, backoff };

  const ofShare = (reconcile: Reconcile): Reconcile =>
    sharedReconcile(
      shares,
      { ownerKey: (key) => uidKey(claims.get(key)), confirm: { kube, informer: claims } },
      reconcile,
    );
  shares?.beforeGain((before, after) => {
    // Another replica has worked on them since.
    for (const claim of claims.list()) {
      const { uid } = claim.metadata;
      if (after(uid) && !before(uid)) for (const { forget } of works) forget(claim);
    }
  });
  shares?.onGain(() => inSlices(clock, claims.list(), look));

  function expansion(place: 'controller' | 'node'): Work {
    const { reconcile, forget } = expansionReconciler({
      ...ports,
      ...shared,
      place,
      calls:
        place === 'node'
          ? nodeOnlyExpandCalls
          : controllerExpandCalls({
              kube,
              csi,
              timeoutMs,
              singleNodeMultiWriter: driver.controller.has('SINGLE_NODE_MULTI_WRITER'),
            }),
      recovers: flags.featureGates.RecoverVolumeExpansionFailure,
      annotates: flags.featureGates.AnnotateFsResize,
      minds: flags.handleVolumeInuseError,
    });
    return {
      loop: createLoop({ ...loopOptions, name: `${driver.name}-pvc`, reconcile: ofShare(reconcile) }),
      concerns: (claim) => wantsExpansion(claim) || isNoted(volumes.get(claim.spec.volumeName ?? '')),
      inputs: (claim) => {
        const state = expansionState(claim);
        return [
          requestedSize(claim),
          retryOf(claim),
          claim.status?.phase,
          claim.status?.capacity?.storage,
          // A silent watch does not show that the claim was sent back to the node, which refused it once more.
          state === 'NodeResizeInfeasible' ? claim.metadata.resourceVersion : state,
        ].join();
      },
      forget,
    };
  }

  function modification(attributes: NonNullable<typeof classes>): Work {
    claims.addIndex(BY_CLASS, (claim) => (wantsModification(claim) ? namesOf(claim) : []));
    const calls = createModifyCalls({ kube, csi, timeoutMs, extraMetadata: flags.extraModifyMetadata });
    const { reconcile, forget } = modificationReconciler({
      ...ports,
      ...shared,
      calls,
      classes: attributes,
    });
    return {
      loop: createLoop({ ...loopOptions, name: `${driver.name}-pvc-modify`, reconcile: ofShare(reconcile) }),
      concerns: wantsModification,
      inputs: ({ spec, status, ...claim }) =>
        [
          retryOf(claim),
          spec.volumeAttributesClassName,
          status?.phase,
          status?.currentVolumeAttributesClassName,
          status?.modifyVolumeStatus?.status,
          status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
        ].join(),
      forget,
    };
  }

  function look(claim: PersistentVolumeClaim): void {
    for (const { loop, concerns } of works) if (concerns(claim)) loop.add(keyOf(claim));
  }

  function lookAtClaimOf({ spec: { csi, claimRef } }: PersistentVolume): void {
    if (csi?.driver !== driver.name || !claimRef) return;
    const claim = claims.get(`${claimRef.namespace}/${claimRef.name}`);
    if (claim !== undefined) look(claim);
  }

  function follow(): () => void {
    // Claims that are cached already are looked at with their volumes.
    let isFollowing = false;
    const subscriptions = [
      claims.subscribe(
        {
          added: look,
          updated: (before, after) => {
            // Changes of labels and the like must not reset the backoff after a failure.
            for (const { loop, concerns, inputs } of works) {
              const isNews = before === after || inputs(before) !== inputs(after);
              if (isNews && concerns(after)) loop.add(keyOf(after));
            }
          },
          deleted: (claim) => {
            for (const { loop, forget } of works) {
              forget(claim);
              loop.forget(keyOf(claim));
            }
          },
        },
        { inSlices: true },
      ),
      // The claim may be cached before its volume is.
      volumes.subscribe({
        added: (volume) => {
          if (isFollowing) lookAtClaimOf(volume);
        },
        updated: (before, after) => {
          // A volume that was there before its claim is expanded only once it is bound to it.
          const isBound = before.spec.claimRef?.uid !== after.spec.claimRef?.uid;
          if (isBound || (isNoted(after) && !isNoted(before))) lookAtClaimOf(after);
        },
      }),
    ];
    const work = works.find(({ concerns }) => concerns === wantsModification);
    if (classes && work) subscriptions.push(followClasses(classes, work.loop));
    isFollowing = true;
    return () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    };
  }

  /** A claim may wait for its class. */
  function followClasses(attributes: NonNullable<typeof classes>, loop: Loop): () => void {
    const wake = (name: string): void => {
      for (const claim of claims.byIndex(BY_CLASS, name)) loop.add(keyOf(claim));
    };
    return attributes.subscribe({ added: ({ metadata }) => wake(metadata.name) });
  }

  const resync = (signal: AbortSignal): Promise<void> =>
    every({ clock, intervalMs: flags.resyncPeriodMs, signal }, () => inSlices(clock, claims.list(), look));

  /** Where the driver expands volumes; undefined when it does not. */
  async function placeOfExpansion(signal: AbortSignal): Promise<'controller' | 'node' | undefined> {
    if (driver.controller.has('EXPAND_VOLUME')) return 'controller';
    try {
      const abilities = await nodeCapabilities(csi, { timeoutMs, signal });
      return abilities.has('EXPAND_VOLUME') ? 'node' : undefined;
    } catch (error) {
      // A controller may be deployed without the node service.
      if (codeOf(error) === 'UNIMPLEMENTED') return undefined;
      throw error;
    }
  }

  return {
    async run(signal) {
      const place = await placeOfExpansion(signal);
      if (place === undefined && !modifies) {
        throw new Error(
          `driver ${driver.name} can neither expand volumes (EXPAND_VOLUME) nor modify them (MODIFY_VOLUME)`,
        );
      }
      if (place !== undefined) works.push(expansion(place));
      if (classes) works.push(modification(classes));
      const watched: Informer<never>[] = [claims, volumes, ...(classes ? [classes] : [])] as never;
      await Promise.all(watched.map((each) => each.synced(signal)));
      const unfollow = follow();
      log.info('Resizing volumes', { workers, on: place ?? 'nothing', modifies });
      try {
        await Promise.all([...works.map(({ loop }) => loop.run(signal)), resync(signal)]);
      } finally {
        unfollow();
      }
    },
  };
}

const isNoted = (volume: PersistentVolume | undefined): boolean =>
  volume?.metadata.annotations?.[ANN_PRE_RESIZE_CAPACITY] !== undefined;

function namesOf(claim: PersistentVolumeClaim): string[] {
  const underWay = claim.status?.modifyVolumeStatus?.targetVolumeAttributesClassName;
  return [...new Set([wantedClass(claim), underWay ?? ''])].filter((name) => name !== '');
}
