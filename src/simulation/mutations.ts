// The deliberate bugs, which prove that the checkers would notice real ones (mutation.ts says how they are made).

import {
  csiNodes,
  leases,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type VolumeAttachment,
  volumeAttachments,
} from '../api/kinds.ts';
import { type KubeObject, keyOf, type Metadata, nameFromKey } from '../api/object.ts';
import { selectedNodeOf } from '../api/volumes.ts';
import {
  ANN_PROVISIONING_INTENTS,
  ANN_SELECTED_NODE,
  FINALIZER_PROVISIONING,
  FINALIZER_PV_PROTECTION,
  FINALIZER_PVC_PROTECTION,
} from '../api/well-known.ts';
import { Controller } from '../csi/generated/csi/v1/csi_pb.ts';
import type { DescMethodUnary } from '../wire/protobuf/descriptor.ts';
import { secretText } from './class-objects.ts';
import { type Mutation, onCall, seenAs, strip } from './mutation.ts';
import { SNAPSHOT_MUTATIONS } from './snapshot-mutations.ts';
import { machineOf } from './storage-backend.ts';

/** The provisioner's ledger without its intents; any other object unchanged. */
function withoutIntents<T extends { metadata: Partial<Metadata> }>(object: T): T {
  const text = object.metadata.annotations?.[ANN_PROVISIONING_INTENTS];
  if (text === undefined || !text.includes('"uid"')) return object;
  const { writes } = JSON.parse(text) as { writes: number };
  const annotations = { [ANN_PROVISIONING_INTENTS]: JSON.stringify({ writes, intents: [] }) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

export const MUTATIONS = {
  'new-name-on-retry': {
    what: 'a CreateVolume that is repeated asks under a new name',
    rule: 'volume-name',
    process: 'provisioner',
    csi(inner) {
      const tries = new Map<unknown, number>();
      return onCall(inner, 'CreateVolume', (request, next) => {
        const count = (tries.get(request.name) ?? 0) + 1;
        tries.set(request.name, count);
        return next(count === 1 ? request : { ...request, name: `${request.name}-${count}` });
      });
    },
  },
  'changed-request-on-retry': {
    what: 'a CreateVolume that is repeated asks for more',
    rule: 'changed-request',
    process: 'provisioner',
    csi(inner) {
      const tries = new Map<unknown, bigint>();
      return onCall(inner, 'CreateVolume', (request, next) => {
        const count = (tries.get(request.name) ?? 0n) + 1n;
        tries.set(request.name, count);
        return next({ ...request, capacityRange: { requiredBytes: count << 30n } });
      });
    },
  },
  'intent-not-written': {
    what: 'the provisioner calls CreateVolume before the intent that remembers it is stored',
    rule: 'leak',
    process: 'provisioner',
    kube: (inner) => ({
      ...inner,
      create: (resource, object, options) => inner.create(resource, withoutIntents(object), options),
      update: (resource, object, options) => inner.update(resource, withoutIntents(object), options),
    }),
  },
  'intent-over-early': {
    what: 'the provisioner takes an intent out of the ledger before the volume is recorded',
    rule: 'leak',
    process: 'provisioner',
    csi: (inner, world) =>
      onCall(inner, 'CreateVolume', async (request, next) => {
        for (const lease of world.server.reader.list(leases)) {
          if (withoutIntents(lease) === lease) continue;
          await world.admin.update(leases, withoutIntents(lease));
        }
        return next(request);
      }),
  },
  'ledger-not-read': {
    what: 'a provisioner that starts does not look for the intents of the one before it',
    rule: 'leak',
    process: 'provisioner',
    kube: (inner) => seenAs(inner, leases, withoutIntents),
  },
  'claim-not-kept': {
    what: 'the provisioner does not keep a claim whose CreateVolume has no certain outcome',
    rule: 'leak',
    process: 'provisioner',
    kube: (inner) => ({
      ...inner,
      async update(resource, object, options) {
        const { finalizers } = object.metadata;
        if (resource.plural !== 'persistentvolumeclaims' || !finalizers?.includes(FINALIZER_PROVISIONING)) {
          return inner.update(resource, object, options);
        }
        const without = finalizers.filter((each) => each !== FINALIZER_PROVISIONING);
        const metadata = { ...object.metadata, finalizers: without };
        const stored = await inner.update(resource, { ...object, metadata }, options);
        return { ...stored, metadata: { ...stored.metadata, finalizers } };
      },
    }),
  },
  'selected-node-kept': {
    what: 'the provisioner does not give a claim back to the scheduler whose selected node has no CSINode',
    rule: 'convergence',
    process: 'provisioner',
    kube: (inner, world) => ({
      ...inner,
      update(resource, object, options) {
        const { name = '', namespace = '', annotations } = object.metadata;
        const isClaim = resource.plural === persistentVolumeClaims.plural;
        const claim = isClaim && world.server.reader.get(persistentVolumeClaims, { name, namespace });
        const selected = claim && selectedNodeOf(claim);
        if (!selected) return inner.update(resource, object, options);
        const metadata = {
          ...object.metadata,
          annotations: { ...annotations, [ANN_SELECTED_NODE]: selected },
        };
        return inner.update(resource, { ...object, metadata }, options);
      },
    }),
  },
  'delete-not-sent': {
    what: 'the provisioner takes DeleteVolume for done without asking',
    rule: 'finalizer-early',
    process: 'provisioner',
    csi: (inner) => onCall(inner, 'DeleteVolume', async () => ({})),
  },
  'delete-while-attached': {
    what: 'the provisioner does not look whether a volume is attached',
    rule: 'deleted-in-use',
    process: 'provisioner',
    kube: (inner) =>
      seenAs(
        seenAs(inner, volumeAttachments, () => undefined),
        persistentVolumes,
        (volume) => ({
          ...volume,
          metadata: {
            ...volume.metadata,
            finalizers: (volume.metadata.finalizers ?? []).filter(
              (each) => !each.startsWith('external-attacher/'),
            ),
          },
        }),
      ),
  },
  'delete-while-staged': {
    what: 'the provisioner does not look whether a volume is staged that is not attached',
    rule: 'deleted-in-use',
    process: 'provisioner',
    kube: (inner) => seenAs<Node>(inner, nodes, (node) => ({ ...node, status: {} })),
  },
  'retained-deleted': {
    what: 'the provisioner takes every reclaim policy for Delete',
    rule: 'deleted-retained',
    process: 'provisioner',
    kube: (inner) =>
      seenAs<PersistentVolume>(inner, persistentVolumes, (volume) => ({
        ...volume,
        spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Delete' },
      })),
  },
  'attachment-finalizer-early': {
    what: 'the attacher lets a VolumeAttachment go before ControllerUnpublishVolume',
    rule: 'finalizer-early',
    start(world) {
      for (const { name } of world.plan.drivers) {
        strip(world, volumeAttachments as never, `external-attacher/${name.replaceAll('.', '-')}`);
      }
    },
  },
  'unpublish-not-sent': {
    what: 'the attacher takes ControllerUnpublishVolume for done without asking',
    rule: 'finalizer-early',
    process: 'attacher',
    csi: (inner) => onCall(inner, 'ControllerUnpublishVolume', async () => ({})),
  },
  'detached-by-newest-id': {
    what: 'the attacher detaches from the node ID that the driver reports now',
    rule: 'finalizer-early',
    process: 'attacher',
    csi: (inner, world) =>
      onCall(inner, 'ControllerUnpublishVolume', (request, next) => {
        const { volumeId, nodeId } = request as { volumeId: string; nodeId: string };
        const backend = [...world.backends.values()].find((each) => each.hasVolume(volumeId));
        return next({ ...request, nodeId: backend?.nodeIdOf(machineOf(nodeId)) ?? nodeId });
      }),
  },
  'detach-without-waiting': {
    what: 'attach-detach does not wait until the node has unmounted',
    rule: 'call-order',
    process: 'control-plane',
    kube(inner) {
      const idle = (node: Node): Node => ({ ...node, status: { ...node.status, volumesInUse: [] } });
      return {
        ...seenAs<Node>(inner, nodes, idle),
        // What is answered to its report says so, too.
        async patch(resource, name, patch, options) {
          const answer = await inner.patch(resource, name, patch, options);
          return resource.plural === nodes.plural ? (idle(answer as unknown as Node) as never) : answer;
        },
      };
    },
  },
  'attach-to-two-nodes': {
    what: 'attach-detach takes every volume for one that many nodes may have',
    rule: 'two-nodes',
    process: 'control-plane',
    kube(inner) {
      const shared = 'ReadWriteMany';
      const view = seenAs<PersistentVolume>(inner, persistentVolumes, (volume) => ({
        ...volume,
        spec: { ...volume.spec, accessModes: [...(volume.spec.accessModes ?? []), shared] },
      }));
      return {
        ...view,
        update(resource, object, options) {
          if (resource.plural !== persistentVolumes.plural) return inner.update(resource, object, options);
          const { spec } = object as unknown as PersistentVolume;
          const accessModes = spec.accessModes?.filter((mode, index) => index === 0 || mode !== shared) ?? [];
          return inner.update(resource, { ...object, spec: { ...spec, accessModes } } as never, options);
        },
      };
    },
  },
  'claim-unprotected': {
    what: 'a claim loses its protection while pods use it',
    rule: 'finalizer-early',
    start: (world) => strip(world, persistentVolumeClaims as never, FINALIZER_PVC_PROTECTION),
  },
  'volume-unprotected': {
    what: 'a volume loses its protection while a claim has it',
    rule: 'finalizer-early',
    start: (world) => strip(world, persistentVolumes as never, FINALIZER_PV_PROTECTION),
  },
  'leader-keeps-acting': {
    what: 'a leader that has lost its lease goes on',
    rule: 'two-leaders',
    lead: (lead, process) => () => lead(process.signal),
  },
  'deaf-to-stop': {
    what: 'a component that is told to stop goes on',
    rule: 'acts-after-stop',
    isDeaf: true,
  },
  'stage-not-sent': {
    what: 'the node takes NodeStageVolume for done without asking',
    rule: 'call-order',
    process: 'node',
    csi: (inner) => onCall(inner, 'NodeStageVolume', async () => ({})),
  },
  'unstage-first': {
    what: 'the node unstages a volume before it unpublishes it',
    rule: 'call-order',
    process: 'node',
    csi(inner) {
      const staging = new Map<unknown, unknown>();
      const watched = onCall(inner, 'NodeStageVolume', (request, next) => {
        staging.set(request.volumeId, request.stagingTargetPath);
        return next(request);
      });
      return {
        async call(method, request, options) {
          const { volumeId } = request as { volumeId?: unknown };
          const path = staging.get(volumeId);
          if (method.name === 'NodeUnpublishVolume' && path !== undefined) {
            const unstage = method.parent.method.nodeUnstageVolume as DescMethodUnary;
            await inner
              .call(unstage, { volumeId, stagingTargetPath: path } as never, options)
              .catch(() => {});
          }
          return watched.call(method, request, options);
        },
      };
    },
  },
  'affinity-ignored': {
    what: 'the node does not look at the node affinity of a PersistentVolume',
    rule: 'affinity',
    process: 'node',
    kube: (inner) =>
      seenAs<PersistentVolume>(
        inner,
        persistentVolumes,
        ({ spec: { nodeAffinity: _, ...spec }, ...rest }) => ({
          ...rest,
          spec,
        }),
      ),
  },
  'registration-believed': {
    what: 'the node takes its CSINode for what it last wrote there',
    rule: 'convergence',
    process: 'node',
    kube(inner) {
      let written: KubeObject | undefined;
      return {
        ...inner,
        get: async (resource, name, options) =>
          resource.plural === csiNodes.plural && written
            ? (written as never)
            : inner.get(resource, name, options),
        async update(resource, object, options) {
          const stored = await inner.update(resource, object, options);
          if (resource.plural === csiNodes.plural) written = stored;
          return stored;
        },
      };
    },
  },
  'full-node-unnoticed': {
    what: 'the node does not see that an attach failed for want of room on it',
    rule: 'convergence',
    process: 'node',
    kube: (inner) =>
      seenAs<VolumeAttachment>(inner, volumeAttachments, ({ status, ...rest }) => {
        if (!status?.attachError) return { ...rest, ...(status && { status }) };
        const { errorCode: _, ...attachError } = status.attachError;
        return { ...rest, status: { ...status, attachError } };
      }),
  },
  'published-writable': {
    what: 'the node does not say in NodePublishVolume that a pod only reads',
    rule: 'read-only',
    process: 'node',
    csi: (inner) =>
      onCall(inner, 'NodePublishVolume', (request, next) => next({ ...request, readonly: false })),
  },
  'two-calls-at-once': {
    what: 'a component calls twice for one volume without waiting for the first answer',
    rule: 'one-in-flight',
    csi: (inner) =>
      onCall(inner, '', (request, next) => {
        next(request).catch(() => {});
        return next(request);
      }),
  },
  'no-backoff': {
    what: 'a call that fails is repeated at once, without end',
    rule: 'hot-loop',
    csi: (inner) =>
      onCall(inner, '', async (request, next) => {
        for (let tries = 1; ; tries++) {
          try {
            return await next(request);
          } catch (error) {
            if (tries === 200) throw error;
          }
        }
      }),
  },
  'records-not-written': {
    what: 'the node keeps no record of what it mounts',
    rule: 'leak',
    process: 'node',
    files: (inner) => ({ ...inner, writeRecord: async () => {} }),
  },
  'pod-let-go-early': {
    what: 'the node lets a pod go before its volumes are unpublished',
    rule: 'pod-early',
    start(world) {
      world.server.reader.subscribe<Pod>(pods, (before, after) => {
        if (before?.metadata.deletionTimestamp || !after?.metadata.deletionTimestamp || !after.spec.nodeName)
          return;
        const key = keyOf(after);
        const actor = `node-${after.spec.nodeName}`;
        world.clock.setTimeout(() => {
          world.admin.delete(pods, nameFromKey(key), { gracePeriodSeconds: 0 }).then(
            () =>
              world.history.add({
                kind: 'write',
                actor,
                verb: 'delete',
                plural: 'pods',
                key,
                outcome: 'done',
              }),
            () => {},
          );
        }, 5);
      });
    },
  },
  'expand-not-sent': {
    what: 'the resizer takes ControllerExpandVolume for done without asking',
    rule: 'size',
    process: 'resizer',
    csi: (inner) =>
      onCall(inner, 'ControllerExpandVolume', async ({ capacityRange }) => ({
        capacityBytes: (capacityRange as { requiredBytes: bigint }).requiredBytes,
        nodeExpansionRequired: false,
      })),
  },
  'node-expansion-not-sent': {
    what: 'the node takes NodeExpandVolume for done without asking',
    rule: 'size',
    process: 'node',
    csi: (inner) => onCall(inner, 'NodeExpandVolume', async () => ({})),
  },
  'expansion-not-recorded': {
    what: 'the resizer does not record which size it asks the driver for',
    rule: 'changed-request',
    process: 'resizer',
    kube: (inner) => ({
      ...inner,
      patch(resource, name, patch, options) {
        const { status, ...rest } = patch as { status?: Record<string, unknown> };
        if (status === undefined) return inner.patch(resource, name, patch, options);
        const { allocatedResources, allocatedResourceStatuses, ...kept } = status;
        return inner.patch(resource, name, { ...rest, status: kept }, options);
      },
    }),
  },
  'secret-in-status': {
    what: 'the attacher puts a secret into the error that it reports',
    rule: 'secret',
    process: 'attacher',
    kube: (inner, world) => ({
      ...inner,
      async patch(resource, name, patch, options) {
        const { status } = patch as { status?: { attachError?: { message?: string } } };
        const className = world.plan.classes.find(({ secrets }) => secrets)?.name;
        if (status?.attachError?.message && className !== undefined) {
          const message = `${status.attachError.message} (${secretText(className, 'controller-publish')})`;
          const leaking = {
            ...(patch as object),
            status: { ...status, attachError: { ...status.attachError, message } },
          };
          return inner.patch(resource, name, leaking, options);
        }
        return inner.patch(resource, name, patch, options);
      },
    }),
  },
  'secret-in-log': {
    what: 'the provisioner logs the request of a call that fails',
    rule: 'secret',
    process: 'provisioner',
    csi: (inner, world) =>
      onCall(inner, 'CreateVolume', async (request, next) => {
        try {
          return await next(request);
        } catch (error) {
          world.log.warn('CreateVolume failed', { request });
          throw error;
        }
      }),
  },
  'wrong-secret': {
    what: 'NodePublishVolume comes with the secret of NodeStageVolume',
    rule: 'secret',
    process: 'node',
    csi(inner) {
      const kept = new Map<unknown, unknown>();
      const staged = onCall(inner, 'NodeStageVolume', (request, next) => {
        kept.set(request.volumeId, request.secrets);
        return next(request);
      });
      return onCall(staged, 'NodePublishVolume', (request, next) =>
        next({ ...request, secrets: kept.get(request.volumeId) ?? request.secrets }),
      );
    },
  },
  'torn-at-once': {
    what: 'volumes are detached by force as soon as their node is silent',
    rule: 'forced-detach',
    start(world) {
      const isSilent = (node: Node | undefined): boolean =>
        node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'Unknown') ??
        false;
      world.server.reader.subscribe(nodes, (before, after) => {
        if (!after || isSilent(before) || !isSilent(after)) return;
        for (const { metadata, spec } of world.server.reader.list(volumeAttachments)) {
          if (spec.nodeName !== after.metadata.name) continue;
          world.clock.setTimeout(() => {
            world.admin.delete(volumeAttachments, { name: metadata.name }).catch(() => {});
          }, 1);
        }
      });
    },
  },
  'existing-deleted': {
    what: 'a volume that nobody made by a claim is deleted once nobody uses it',
    rule: 'deleted-retained',
    process: 'attacher',
    csi: (inner) =>
      onCall(inner, 'ControllerUnpublishVolume', async (request, next) => {
        const answer = await next(request);
        const { volumeId } = request as { volumeId: string };
        if (volumeId.endsWith('-existing'))
          await inner.call(Controller.method.deleteVolume, { volumeId }, { timeoutMs: 60_000 });
        return answer;
      }),
  },
  'claim-rebound': {
    what: 'two claims end up with one volume',
    rule: 'two-claims',
    start(world) {
      const bound = (claim: PersistentVolumeClaim | undefined): boolean => claim?.status?.phase === 'Bound';
      world.server.reader.subscribe(persistentVolumeClaims, (before, after) => {
        if (!after || bound(before) || !bound(after)) return;
        const twin = {
          ...after.metadata,
          name: `${after.metadata.name}-twin`,
          resourceVersion: undefined,
          finalizers: [],
        };
        world.clock.setTimeout(() => {
          world.admin
            .create(persistentVolumeClaims, { ...after, metadata: twin } as never)
            .then((made) =>
              world.admin.update(
                persistentVolumeClaims,
                { ...made, status: { phase: 'Bound' } },
                { subresource: 'status' },
              ),
            )
            .catch(() => {});
        }, 1);
      });
    },
  },
  ...SNAPSHOT_MUTATIONS,
} as const satisfies Record<string, Mutation>;
