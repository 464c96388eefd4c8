// The state of each volume as the storage has it, and the calls that must not arrive in that state: the specification's
// state machine, one node at a time, and nothing deleted under its user.

import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
} from '../../api/kinds.ts';
import { matchesNodeSelectorTerms } from '../../api/selectors.ts';
import { claimNameOf, uniqueVolumeName } from '../../api/volumes.ts';
import type { CallFacts, Entry } from '../history.ts';
import { existingHandle, ZONE_KEY } from '../storage-backend.ts';
import { OUT_OF_SERVICE } from '../users.ts';
import type { Checker, Rules } from './index.ts';
import { Silence } from './silence.ts';

interface State {
  attached: Set<string>;
  staged: Set<string>;
  /** Node to target paths. */
  published: Map<string, Set<string>>;
  /** Nodes that it was detached from by force. What they still have mounted no longer counts. */
  torn: Set<string>;
}

export function volumeStateChecker({ plan, violate }: Rules): Checker {
  const states = new Map<string, State>();
  const claims = new Map<string, PersistentVolumeClaim>();
  const volumes = new Map<string, PersistentVolume>();
  const nodes = new Map<string, Node>();
  /** UIDs of claims whose volume was used by a pod that was deleted by force. */
  const givenUp = new Set<string | undefined>();
  /** `volume node`: it was staged or published there when the Node was deleted or tainted as out of service. */
  const unreported = new Set<string>();
  /** Processes whose watch of Nodes was struck by a fault since they started. */
  const behind = new Set<string>();
  const silence = new Silence({ claims, volumes });
  /** `volume node`: its detachment by force was decided. It may be carried out after the node is back. */
  const forced = new Set<string>();
  const gonePods = new Set<string>();
  /** UIDs of pods whose object went while something was published for them. */
  const abandoned = new Set<string>();
  const driverOf = new Map(plan.drivers.map((driver) => [driver.name, driver]));
  const stateOf = (id: string): State => {
    let state = states.get(id);
    if (state === undefined) {
      state = { attached: new Set(), staged: new Set(), published: new Map(), torn: new Set() };
      states.set(id, state);
    }
    return state;
  };
  const isPublished = (state: State, node: string): boolean => (state.published.get(node)?.size ?? 0) > 0;
  const usedOn = (state: State, node: string): boolean => state.staged.has(node) || isPublished(state, node);
  const objectsOf = (id: string): PersistentVolume[] =>
    [...volumes.values()].filter(({ spec }) => spec.csi?.volumeHandle === id);
  const isShared = (id: string): boolean =>
    objectsOf(id).some(({ spec }) =>
      (spec.accessModes ?? []).some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany'),
    );
  const isEphemeral = (id: string): boolean => id.startsWith('csi-');

  function changed(entry: Extract<Entry, { kind: 'storage' }>): void {
    const { change, node, path } = entry;
    if (change === 'rebooted') {
      for (const state of states.values()) {
        state.staged.delete(node);
        state.published.delete(node);
      }
      return;
    }
    const state = stateOf(entry.volume);
    if (change === 'attached') {
      state.attached.add(node);
      state.torn.delete(node);
      forced.delete(`${entry.volume} ${node}`);
    } else if (change === 'detached') state.attached.delete(node);
    else if (change === 'staged') {
      state.staged.add(node);
      unreported.delete(`${entry.volume} ${node}`);
    } else if (change === 'unstaged') state.staged.delete(node);
    else if (change === 'published') {
      const paths = state.published.get(node) ?? new Set();
      state.published.set(node, paths.add(path));
    } else if (change === 'unpublished') state.published.get(node)?.delete(path);
    const users = new Set([
      ...state.staged,
      ...[...state.published.keys()].filter((each) => isPublished(state, each)),
    ]);
    for (const each of state.torn) users.delete(each);
    if (users.size > 1 && driverOf.get(entry.driver)?.attaches && !isShared(entry.volume)) {
      violate('two-nodes', `volume ${entry.volume} is in use on ${[...users].sort().join(' and ')}`);
    }
  }

  /** A deleted node cannot be waited for, and a silent one not for ever. */
  const mayForce = (volume: string, node: string, atMs: number): boolean =>
    !nodes.has(node) || silence.mayForce(volume, node, atMs);

  function attachmentDeleted({ spec: { nodeName, source } }: VolumeAttachment, atMs: number): void {
    const { persistentVolumeName = '', inlineVolumeSpec } = source;
    const { csi } = volumes.get(persistentVolumeName)?.spec ?? inlineVolumeSpec ?? {};
    const handle = csi?.volumeHandle ?? '';
    if (mayForce(handle, nodeName, atMs)) forced.add(`${handle} ${nodeName}`);
  }

  /** The decision begins when the volume leaves `volumesAttached`, and is over when it is listed there again. */
  function attachedReported(before: Node | undefined, after: Node | undefined, atMs: number): void {
    const name = after?.metadata.name ?? '';
    const listed = new Set(after?.status?.volumesAttached?.map((each) => each.name));
    for (const each of before?.status?.volumesAttached ?? []) {
      const handle = each.name.slice(each.name.indexOf('^') + 1);
      if (!listed.has(each.name) && mayForce(handle, name, atMs)) forced.add(`${handle} ${name}`);
    }
    for (const each of listed) forced.delete(`${each.slice(each.indexOf('^') + 1)} ${name}`);
  }

  function arrived(call: CallFacts, actor: string, atMs: number): void {
    const { method, volume, node } = call;
    const driver = driverOf.get(call.driver);
    const state = stateOf(volume);
    const say = (rule: string, why: string): void => violate(rule, `${actor}: ${method} ${volume}: ${why}`);
    switch (method) {
      case 'DeleteVolume':
        checkDelete(volume, state, say);
        if (!behind.has(actor)) checkStaged(call, state, say);
        return;
      case 'ControllerPublishVolume': {
        const others = [...state.attached].filter((each) => each !== node);
        if (others.length > 0 && !isShared(volume))
          say('two-nodes', `for ${node}, while attached to ${others.join(', ')}`);
        return;
      }
      case 'ControllerUnpublishVolume':
        if (!usedOn(state, node)) return;
        if (forced.has(`${volume} ${node}`) || mayForce(volume, node, atMs)) state.torn.add(node);
        else if (silence.isReady(node))
          say('call-order', `from ${node}, where it is still staged or published`);
        else
          say('forced-detach', `from ${node}, which has not been silent for six minutes since its last pod`);
        return;
      case 'NodeStageVolume':
        checkAffinity(volume, node, say);
        if (driver?.attaches && !state.attached.has(node))
          say('call-order', `on ${node}, where it is not attached`);
        return;
      case 'NodePublishVolume':
        if (isEphemeral(volume)) return;
        checkAffinity(volume, node, say);
        if (driver?.attaches && !state.attached.has(node))
          say('call-order', `on ${node}, where it is not attached`);
        if (driver?.stages && !state.staged.has(node))
          say('call-order', `on ${node}, where it is not staged`);
        return;
      case 'NodeUnstageVolume':
        if (isPublished(state, node)) say('call-order', `on ${node}, where it is still published`);
        return;
    }
  }

  /** By the zone that the driver says the node is in, whatever happened to the Node's labels meanwhile. */
  function checkAffinity(id: string, node: string, say: (rule: string, why: string) => void): void {
    const zone = plan.nodes.find(({ name }) => name === node)?.zone ?? '';
    const place = { metadata: { name: node, labels: { [ZONE_KEY]: zone } } };
    for (const { metadata, spec } of objectsOf(id)) {
      const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
      if (terms && !matchesNodeSelectorTerms(terms, place))
        say('affinity', `on ${node}, which the node affinity of ${metadata.name} excludes`);
    }
  }

  function checkDelete(id: string, state: State, say: (rule: string, why: string) => void): void {
    if (id === existingHandle(plan.drivers.find(({ short }) => id.startsWith(`${short}-`))?.name ?? ''))
      say('deleted-retained', 'nobody made it by a claim');
    if (state.attached.size > 0) say('deleted-in-use', `while attached to ${[...state.attached].join(', ')}`);
    for (const [node, paths] of state.published) {
      for (const path of paths) {
        if (!gonePods.has(podUidOf(path))) say('deleted-in-use', `while published on ${node}`);
      }
    }
    for (const { metadata, spec } of objectsOf(id)) {
      const claim = claims.get(`${spec.claimRef?.namespace}/${spec.claimRef?.name}`);
      if (claim && claim.metadata.uid === spec.claimRef?.uid && claim.spec.volumeName === metadata.name) {
        say('deleted-in-use', `while claim ${claim.metadata.name} has it`);
      }
      if (spec.persistentVolumeReclaimPolicy === 'Retain')
        say('deleted-retained', `${metadata.name} is to be kept`);
    }
  }

  /**
   * Drivers that attach are held to their attachments. Of the others the provisioner knows only what Nodes report, as its
   * watch shows it.
   */
  function checkStaged(
    { volume: id, driver }: CallFacts,
    state: State,
    say: (rule: string, why: string) => void,
  ): void {
    if (plan.drivers.some(({ name, attaches }) => name === driver && attaches)) return;
    const isGivenUp = objectsOf(id).some(({ spec }) => givenUp.has(spec.claimRef?.uid));
    for (const [name, { spec, status }] of nodes) {
      if (!usedOn(state, name) || unreported.has(`${id} ${name}`) || isOut(spec)) continue;
      const isReported = status?.volumesInUse?.includes(uniqueVolumeName(driver, id));
      if (isReported || !isGivenUp) say('deleted-in-use', `while staged or published on ${name}`);
    }
  }

  /** A Node that is deleted and made anew, or was out of service, does not say at once what it has mounted. */
  function nodeChanged(name: string, before: Node | undefined, after: Node | undefined): void {
    if (after) nodes.set(name, after);
    else nodes.delete(name);
    if (!before || (after && !isOut(after.spec))) return;
    for (const [id, state] of states) if (usedOn(state, name)) unreported.add(`${id} ${name}`);
  }

  function podGone(pod: Pod): void {
    const { uid, namespace, deletionTimestamp } = pod.metadata;
    gonePods.add(uid);
    const isForced = !deletionTimestamp && pod.spec.nodeName;
    for (const volume of isForced ? (pod.spec.volumes ?? []) : []) {
      givenUp.add(claims.get(`${namespace}/${claimNameOf(pod, volume)}`)?.metadata.uid);
    }
    for (const { published } of states.values()) {
      for (const paths of published.values()) {
        for (const path of paths) if (podUidOf(path) === uid) abandoned.add(uid);
      }
    }
  }

  let gone = { key: '', uid: '' };
  return {
    write({ actor, verb, plural, key, outcome }) {
      if (!actor.startsWith('node-') || verb !== 'delete' || plural !== 'pods' || key !== gone.key) return;
      // Somebody else was first.
      if (!outcome.startsWith('done')) return;
      if (abandoned.has(gone.uid))
        violate('pod-early', `${actor} let pod ${key} go while its volume is published`);
    },
    storage: changed,
    delivered: ({ call, actor, atMs }) => arrived(call, actor, atMs),
    api(entry) {
      const { plural, key, before, after } = entry;
      if (plural === 'pods' && before && !after) {
        gone = { key, uid: before.metadata.uid };
        podGone(before as Pod);
      }
      silence.take(entry);
      const kept =
        plural === 'persistentvolumes' ? volumes : plural === 'persistentvolumeclaims' ? claims : undefined;
      if (kept) {
        if (after) (kept as Map<string, unknown>).set(key, after);
        else kept.delete(key);
      } else if (plural === 'nodes') {
        nodeChanged(key, before as Node | undefined, after as Node | undefined);
        attachedReported(before as Node | undefined, after as Node | undefined, entry.atMs);
      } else if (plural === 'volumeattachments') {
        const isNews = after?.metadata.deletionTimestamp && !before?.metadata.deletionTimestamp;
        if (isNews) attachmentDeleted(after as VolumeAttachment, entry.atMs);
      }
    },
    fault({ fault, where }) {
      const watcher = fault.startsWith('watch-') && / (\S+) (?:watch )?nodes #/.exec(where)?.[1];
      if (watcher) behind.add(watcher);
    },
    process({ process, what }) {
      if (what === 'starts') behind.delete(process);
    },
  };
}

function isOut(spec: Node['spec']): boolean {
  return spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE) ?? false;
}

/** A target path is below its pod's directory; that of a raw block volume is named after the pod. */
export function podUidOf(path: string): string {
  return (
    /\/pods\/([^/]+)\/|\/volumeDevices\/publish\/[^/]+\/([^/]+)$/.exec(path)?.slice(1).find(Boolean) ?? ''
  );
}
