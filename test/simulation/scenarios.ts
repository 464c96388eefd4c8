// Plans written by hand, one for each bug that the simulation found in Berth or that users of the official stack report.

import { ALL_FAULTS, type Fault, type Strike, type WatchFault } from '../../src/simulation/faults.ts';
import {
  BARE_NODE,
  type ClassPlan,
  type DriverPlan,
  type EventPlan,
  type Plan,
  type RestartAnswer,
  type SnapshotClassPlan,
  type Step,
} from '../../src/simulation/plan.ts';

export interface Scenario {
  readonly name: string;
  /** What went wrong before. */
  readonly was: string;
  readonly plan: Plan;
  readonly faults: readonly Fault[];
  /** How many ways chance may take. */
  readonly seeds: number;
}

const FULL: DriverPlan = {
  name: 'd1.sim.berth',
  short: 'd1',
  attaches: true,
  stages: true,
  topology: false,
  lists: false,
  ephemeral: false,
  replicas: 1,
};
const NOW: ClassPlan = {
  name: 'd1-now',
  driver: FULL.name,
  reclaim: 'Delete',
  binding: 'Immediate',
  secrets: false,
};
const SNAP: SnapshotClassPlan = { name: 'd1-snap', driver: FULL.name, deletion: 'Delete', secrets: false };

interface World {
  driver?: Partial<DriverPlan>;
  classes?: Partial<ClassPlan>;
  nodes?: number;
  zones?: string[];
  steps: Step[];
  events?: EventPlan[];
  script?: Strike[];
  intensity?: number;
}

function plan({
  driver,
  classes,
  nodes = 1,
  zones = [],
  steps,
  events = [],
  script = [],
  intensity = 0,
}: World): Plan {
  return {
    seed: 0,
    drivers: [{ ...FULL, ...driver }],
    nodes: Array.from({ length: nodes }, (_, index) => ({
      name: `n${index + 1}`,
      zone: zones[index] ?? 'a',
    })),
    classes: [{ ...NOW, ...classes }],
    snapshotClasses: driver?.snapshots ? [SNAP] : [],
    steps,
    events,
    script,
    faultsMs: 120_000,
    intensity,
  };
}

const at = (seconds: number, action: Step['action']): Step => ({ atMs: seconds * 1000, action });
const claim = (seconds: number, name = 'a'): Step =>
  at(seconds, { do: 'create-claim', name, className: NOW.name, mode: 'ReadWriteOnce' });
const pod = (
  seconds: number,
  name = 'p',
  more: { node?: string; pinned?: string; readOnly?: boolean } = {},
): Step => at(seconds, { do: 'create-pod', name, claims: ['a'], ...more });
const existing = (seconds: number, name: string, node: string): Step =>
  at(seconds, { do: 'create-pod', name, claims: [], existing: FULL.name, node });
const resized = (seconds: number, gib: number): Step => at(seconds, { do: 'resize-claim', name: 'a', gib });
const podGone = (seconds: number, name = 'p', graceSeconds = 1): Step =>
  at(seconds, { do: 'delete-pod', name, graceSeconds });
const claimGone = (seconds: number, name = 'a'): Step => at(seconds, { do: 'delete-claim', name });
const snapshot = (seconds: number): Step =>
  at(seconds, { do: 'create-snapshot', name: 's', claim: 'a', className: SNAP.name });
const snapshotGone = (seconds: number): Step => at(seconds, { do: 'delete-snapshot', name: 's' });
const restored = (seconds: number): Step =>
  at(seconds, {
    do: 'create-claim',
    name: 'restored',
    className: NOW.name,
    mode: 'ReadWriteOnce',
    from: { snapshot: 's' },
  });
const group = (seconds: number): Step =>
  at(seconds, { do: 'create-group', name: 'g', set: 'a', className: SNAP.name });
const event = (
  seconds: number,
  fault: EventPlan['fault'],
  target: string,
  forSeconds: number,
  answer?: RestartAnswer,
): EventPlan => ({
  id: `${fault} at ${seconds}`,
  atMs: seconds * 1000,
  fault,
  target,
  forMs: forSeconds * 1000,
  answer,
});

const watch = (
  fault: WatchFault,
  process: string,
  plural: string,
  times: Pick<Strike, 'afterMs' | 'forMs'> = {},
): Strike => ({ fault, process, call: `watch ${plural}`, nth: 1, ...times });

export const SCENARIOS: readonly Scenario[] = [
  {
    name: '[TOP-8] the node that was selected for a claim has no CSINode',
    was: 'the claim waited for it for ever',
    plan: plan({
      driver: { topology: true },
      classes: { binding: 'WaitForFirstConsumer' },
      steps: [
        at(10, {
          do: 'create-claim',
          name: 'a',
          className: NOW.name,
          mode: 'ReadWriteOnce',
          selected: BARE_NODE,
        }),
        pod(11),
      ],
    }),
    faults: [],
    seeds: 3,
  },
  {
    name: '[NOD-1] a pod names a node where its volume cannot be',
    was: 'the volume was staged and published there',
    plan: plan({
      driver: { topology: true },
      nodes: 2,
      zones: ['a', 'b'],
      steps: [claim(1), pod(5, 'p', { pinned: 'n1' }), podGone(40), pod(50, 'q', { pinned: 'n2' })],
    }),
    faults: [],
    seeds: 3,
  },
  {
    name: '[NOD-5] pods read a raw block volume, one after the other, and one writes it',
    was: 'a pod that only reads could write the device',
    plan: plan({
      steps: [
        at(1, { do: 'create-claim', name: 'a', className: NOW.name, mode: 'ReadWriteOnce', isBlock: true }),
        pod(5, 'p', { readOnly: true }),
        podGone(20),
        pod(30, 'q'),
        podGone(40, 'q', 0),
        claimGone(41),
      ],
      events: [event(10, 'node-reboot', 'n1', 2)],
    }),
    faults: ['node-reboot'],
    seeds: 3,
  },
  {
    name: '[NOD-4] a node is full for good',
    was: 'the pod stayed Pending for ever, and nobody made another',
    plan: plan({ steps: [claim(10), pod(11)], events: [event(1, 'node-full', 'n1', 0)] }),
    faults: ['node-full'],
    seeds: 3,
  },
  {
    name: '[NOD-2] somebody deletes a CSINode, its entries, and the annotation and labels of the Node',
    was: 'they stayed away until the node was restarted',
    plan: plan({
      driver: { topology: true },
      steps: [
        claim(1),
        pod(2),
        at(20, { do: 'deregister', node: 'n1', what: 'CSINode' }),
        at(60, { do: 'deregister', node: 'n1', what: 'its entries' }),
        at(100, { do: 'deregister', node: 'n1', what: 'annotation and labels' }),
      ],
    }),
    faults: [],
    seeds: 3,
  },
  {
    name: '[NOD-2] a driver restarts with another node ID under a pod, which then moves to another node',
    was: 'nothing, and it must stay so: the volume is detached from the node ID that it was attached to',
    plan: plan({
      nodes: 2,
      steps: [
        claim(1),
        pod(5, 'p', { node: 'n1' }),
        podGone(40),
        pod(41, 'q', { node: 'n2' }),
        podGone(70, 'q'),
        claimGone(71),
      ],
      events: [20, 30].map((seconds) => event(seconds, 'driver-restart', FULL.name, 0.001, 'node ID')),
    }),
    faults: ['driver-restart'],
    seeds: 3,
  },
  {
    name: '[ATT-6] an attach is recorded, the answer is lost, the next call fails, and the driver restarts with another node ID',
    was: 'found here: the error was written with attached: false, and the volume was detached from the old node ID under the mount',
    plan: plan({
      steps: [claim(1), pod(5), podGone(60), claimGone(61)],
      events: [event(15, 'driver-restart', FULL.name, 0.001, 'node ID')],
      script: [
        watch('watch-late', 'attacher-d1-0', 'volumeattachments', { forMs: 2_900 }),
        { fault: 'kube-lost-after', process: 'attacher-d1-0', call: 'patch volumeattachments', nth: 2 },
        ...[2, 3, 4, 5, 6].map(
          (nth): Strike => ({
            fault: 'csi-refused',
            process: 'attacher-d1-0',
            call: 'ControllerPublishVolume',
            nth,
          }),
        ),
      ],
    }),
    faults: ['driver-restart'],
    seeds: 5,
  },
  {
    name: '[NOD-2] a driver restarts with another topology before the first pod of a claim comes',
    was: 'the CSINode kept the first topology keys for ever',
    plan: plan({
      driver: { topology: true },
      classes: { binding: 'WaitForFirstConsumer' },
      nodes: 2,
      zones: ['a', 'b'],
      steps: [claim(10), pod(20), podGone(40), pod(50, 'q')],
      events: [20, 45, 50].map((seconds) => event(seconds, 'driver-restart', FULL.name, 0.001, 'topology')),
    }),
    faults: ['driver-restart'],
    seeds: 3,
  },
  {
    name: '[NOD-6] pod and claim are deleted together while the driver, which attaches nothing, unstages slowly',
    was: 'DeleteVolume overtook NodeUnstageVolume',
    plan: plan({
      driver: { attaches: false },
      steps: [claim(1), pod(5), podGone(20), claimGone(20)],
      script: [{ fault: 'csi-past-deadline', process: 'node-n1', call: 'NodeUnstageVolume', nth: 1 }],
    }),
    faults: [],
    seeds: 3,
  },
  {
    name: 'a claim and its pod are deleted before the attacher has seen the attachment',
    was: 'found here: the attacher attached a Released volume, and the provisioner, whose caches were behind, deleted it',
    plan: plan({
      steps: [claim(1), pod(5), podGone(7), claimGone(7)],
      script: [
        watch('watch-late', 'attacher-d1-0', 'volumeattachments', { forMs: 2_900 }),
        watch('watch-late', 'provisioner-d1-0', 'persistentvolumes', { forMs: 2_000 }),
        watch('watch-stalled', 'provisioner-d1-0', 'volumeattachments', { afterMs: 3_000, forMs: 30_000 }),
      ],
    }),
    faults: [],
    seeds: 10,
  },
  {
    name: 'a node takes a volume out of volumesInUse, the answer is lost, and the next pod wants the volume',
    was: 'found here: the node published it without reporting it again, and it was detached under the mount',
    plan: plan({
      steps: [claim(1), pod(5, 'p'), podGone(8, 'p', 0), pod(8.2, 'q'), podGone(40, 'q', 0)],
      script: [
        // Attached after the second pod is there: nothing is mounted when the first one goes.
        watch('watch-late', 'attacher-d1-0', 'volumeattachments', { forMs: 4_000 }),
        ...[4, 5, 6].map(
          (nth): Strike => ({ fault: 'kube-lost-after', process: 'node-n1', call: 'patch nodes', nth }),
        ),
        { fault: 'csi-past-deadline', process: 'node-n1', call: 'NodeUnpublishVolume', nth: 1 },
      ],
    }),
    faults: [],
    seeds: 10,
  },
  {
    name: 'a pod is deleted by force while attach-detach does not see what its node reports',
    was: 'found here: the answer to its own write said that the volume was in use, and it never looked again',
    plan: plan({
      steps: [claim(1), pod(5), podGone(20, 'p', 0)],
      script: [
        watch('watch-stalled', 'control-plane', 'nodes', { afterMs: 4_000, forMs: 40_000 }),
        { ...watch('watch-expired', 'control-plane', 'nodes'), nth: 2 },
        { fault: 'csi-slow', process: 'node-n1', call: 'NodeUnpublishVolume', nth: 1 },
      ],
    }),
    faults: [],
    seeds: 10,
  },
  {
    name: 'a claim and its pod are deleted while the control plane sees no pods',
    was: 'found here: the server showed the pod, the cache never did, and nothing looked at the claim again',
    plan: plan({
      steps: [claim(1), pod(6, 'p', { pinned: 'n1' }), claimGone(8), podGone(10)],
      script: [
        watch('watch-stalled', 'control-plane', 'pods', { afterMs: 4_000, forMs: 40_000 }),
        { ...watch('watch-expired', 'control-plane', 'pods'), nth: 2 },
      ],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: 'a claim grows while a CreateVolume for it is still uncertain',
    was: 'found here: the provisioner asked again for the new size under the old name',
    plan: plan({
      driver: { expands: 'controller', replicas: 2 },
      steps: [claim(1), resized(20, 4), resized(30, 6)],
      script: [
        { fault: 'csi-lost-after', process: 'provisioner-d1-0', call: 'CreateVolume', nth: 1 },
        { fault: 'csi-lost-after', process: 'provisioner-d1-1', call: 'CreateVolume', nth: 1 },
        { fault: 'kube-lost-after', process: 'provisioner-d1-0', call: 'create persistentvolumes', nth: 1 },
        { fault: 'kube-lost-after', process: 'provisioner-d1-1', call: 'create persistentvolumes', nth: 1 },
      ],
      events: [
        event(15, 'process-crash', 'provisioner-d1-0', 5),
        event(15, 'process-crash', 'provisioner-d1-1', 5),
      ],
      intensity: 3,
    }),
    faults: [
      'process-crash',
      'csi-lost-after',
      'csi-past-deadline',
      'kube-lost-after',
      'kube-crash-after',
      'watch-late',
    ],
    seeds: 20,
  },
  {
    name: 'it is written that a size cannot be had, the answer is lost, and the request is lowered',
    was: 'found here: the resizer, whose cache was behind, asked for the old size again, and then for the new one as well',
    plan: plan({
      driver: { expands: 'controller' },
      steps: [claim(1), resized(10, 32), resized(16, 3)],
      script: [
        watch('watch-late', 'resizer-d1-0', 'persistentvolumeclaims', { forMs: 2_900 }),
        { fault: 'kube-lost-after', process: 'resizer-d1-0', call: 'patch persistentvolumeclaims', nth: 2 },
        { fault: 'csi-past-deadline', process: 'resizer-d1-0', call: 'ControllerExpandVolume', nth: 2 },
      ],
    }),
    faults: [],
    seeds: 10,
  },
  {
    name: 'a claim grows under a pod whose node was just started, with answers lost',
    was: 'found here: the node gave up following a claim when the first answer about it was lost',
    plan: plan({
      driver: { expands: 'node' },
      steps: [claim(1), pod(2), resized(30, 3), resized(50, 5)],
      events: [event(10, 'process-crash', 'node-n1', 3), event(40, 'process-crash', 'node-n1', 3)],
      intensity: 5,
    }),
    faults: ['process-crash', 'kube-lost-before', 'kube-lost-after'],
    seeds: 20,
  },
  {
    name: 'a request that cannot be met is lowered while answers are lost',
    was: 'the driver is asked for two sizes at once, or the claim never grows again',
    plan: plan({
      driver: { expands: 'node' },
      steps: [claim(1), pod(2), resized(10, 32), resized(20, 3), resized(21, 32), resized(40, 4)],
      events: [event(12, 'process-crash', 'resizer-d1-0', 4)],
      intensity: 3,
    }),
    faults: ['process-crash', 'csi-lost-before', 'csi-lost-after', 'csi-past-deadline', 'csi-refused'],
    seeds: 20,
  },
  {
    name: 'a pod is deleted while its node is down',
    was: 'found here: the node, started again, never let the pod go, because nothing woke it once all mounts were known',
    plan: plan({
      steps: [claim(1), pod(12), podGone(14, 'p', 30)],
      events: [event(10, 'node-lost', 'n1', 20)],
    }),
    faults: ['node-lost'],
    seeds: 5,
  },
  {
    name: 'a claim is deleted while its node restarts in the middle of publishing, then the pod',
    was: 'found here: the pod could not be understood again, so nobody tore down what it had',
    plan: plan({
      driver: { attaches: false },
      steps: [claim(1), pod(2), claimGone(4), podGone(60, 'p', 0)],
      events: [event(8, 'process-crash', 'node-n1', 5)],
      intensity: 3,
    }),
    faults: ['process-crash', 'csi-crash-before', 'csi-crash-after'],
    seeds: 30,
  },
  {
    name: 'a volume is released while the provisioner has not seen its attachment',
    was: 'found here: the provisioner deleted a volume that was attached',
    plan: plan({ steps: [claim(1), pod(5), podGone(20), claimGone(20)], intensity: 8 }),
    faults: ['watch-stalled', 'watch-late', 'watch-dropped'],
    seeds: 40,
  },
  {
    name: 'the PersistentVolume is made, its answer is lost, and the claim is deleted',
    was: 'found here: CreateVolume was called once more, and made a second volume after the first was deleted',
    plan: plan({
      steps: [claim(1), claimGone(5)],
      script: [
        { fault: 'kube-lost-after', process: 'provisioner-d1-0', call: 'create persistentvolumes', nth: 1 },
        { fault: 'csi-past-deadline', process: 'provisioner-d1-0', call: 'CreateVolume', nth: 2 },
      ],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: 'the intent on a deleted claim is taken off, the answer is lost, and the provisioner dies soon after',
    was: 'found here: it asked once more without the intent and died, or found a new claim of that name and span',
    plan: plan({
      steps: [claim(1), claimGone(12.5), claim(30)],
      events: [event(36, 'process-crash', 'provisioner-d1-0', 5)],
      script: [
        ...[1, 3, 4].map(
          (nth): Strike => ({
            fault: 'csi-past-deadline',
            process: 'provisioner-d1-0',
            call: 'CreateVolume',
            nth,
          }),
        ),
        { fault: 'csi-slow', process: 'provisioner-d1-0', call: 'CreateVolume', nth: 2 },
        ...[3, 4, 5].map(
          (nth): Strike => ({
            fault: 'kube-lost-after',
            process: 'provisioner-d1-0',
            call: 'update persistentvolumeclaims',
            nth,
          }),
        ),
      ],
    }),
    faults: ['process-crash'],
    seeds: 30,
  },
  {
    name: 'the ledger is written without the intent of a deleted claim, the answer is lost, and the provisioner dies',
    was: 'nothing, and it must stay so: the claim is gone by then, and only the ledger tells of its volume',
    plan: plan({
      steps: [claim(1), claimGone(1.2), claim(3), at(3.1, { do: 'delete-claim', name: 'a' })],
      events: [event(14, 'process-crash', 'provisioner-d1-0', 5)],
      script: [
        { fault: 'csi-slow', process: 'provisioner-d1-0', call: 'CreateVolume', nth: 1 },
        { fault: 'csi-past-deadline', process: 'provisioner-d1-0', call: 'CreateVolume', nth: 2 },
        ...[1, 2, 3].map(
          (nth): Strike => ({
            fault: 'kube-lost-after',
            process: 'provisioner-d1-0',
            call: 'update leases',
            nth,
          }),
        ),
      ],
      intensity: 2,
    }),
    faults: ['process-crash', 'kube-lost-after', 'kube-lost-before', 'kube-slow', 'kube-crash-after'],
    seeds: 40,
  },
  {
    name: 'a node falls silent for good, and its pod is moved by force',
    was: 'Kubernetes: volumes that stay with a lost node for ever, or are torn from one that only paused',
    plan: plan({
      nodes: 2,
      steps: [
        claim(1),
        pod(2, 'p', { node: 'n1' }),
        at(90, { do: 'evacuate', node: 'n1' }),
        pod(95, 'q', { node: 'n2' }),
      ],
      events: [event(20, 'node-silent', 'n1', 0)],
      intensity: 1,
    }),
    faults: ['node-silent', 'csi-slow', 'csi-lost-after', 'kube-lost-after', 'watch-late'],
    seeds: 10,
  },
  {
    name: 'a silent node is out of service, as its administrator says',
    was: 'Kubernetes: six minutes of waiting for a machine that everybody knows is off',
    plan: plan({
      nodes: 2,
      steps: [
        claim(1),
        pod(2, 'p', { node: 'n1' }),
        at(80, { do: 'out-of-service', node: 'n1' }),
        pod(85, 'q', { node: 'n2' }),
      ],
      events: [event(20, 'node-silent', 'n1', 0)],
      intensity: 1,
    }),
    faults: ['node-silent', 'csi-lost-after', 'kube-lost-after'],
    seeds: 10,
  },
  {
    name: 'a node is out of service before the control plane has noticed that it is silent',
    was: 'a rule was too strict: the taint alone allows a forced detach, whatever the Node says of itself',
    plan: plan({
      nodes: 2,
      steps: [
        claim(1),
        pod(2, 'p', { node: 'n1' }),
        podGone(25, 'p', 0),
        at(80, { do: 'out-of-service', node: 'n1' }),
        pod(85, 'q', { node: 'n2' }),
      ],
      events: [event(20, 'node-silent', 'n1', 0), event(30, 'process-crash', 'control-plane', 40)],
    }),
    faults: ['node-silent', 'process-crash'],
    seeds: 5,
  },
  {
    name: 'a volume that is there already is used without a claim, on one node after the other',
    was: 'inline volumes: attached to two nodes at once, because nothing but their pods tells of them',
    plan: plan({
      nodes: 2,
      steps: [existing(1, 'p', 'n1'), podGone(20, 'p', 0), existing(20.5, 'q', 'n2'), podGone(60, 'q')],
      events: [event(18, 'process-crash', 'control-plane', 3)],
      intensity: 2,
    }),
    faults: ['process-crash', 'csi-slow', 'csi-lost-after', 'watch-late', 'kube-lost-after'],
    seeds: 20,
  },
  {
    name: 'a Node is deleted while it has a volume, and its agent starts again',
    was: 'found here: the new Node did not say what was mounted, and the volume was detached under it',
    plan: plan({
      steps: [claim(1), pod(2), at(10, { do: 'delete-node', node: 'n1' })],
      events: [event(60, 'process-crash', 'node-n1', 3)],
      intensity: 4,
    }),
    faults: ['process-crash', 'csi-past-deadline', 'csi-slow'],
    seeds: 20,
  },
  {
    name: 'a claim is deleted in the middle of CreateVolume',
    was: 'external-provisioner: volumes left behind by claims that go at the wrong moment',
    plan: plan({ steps: [claim(1), at(1.03, { do: 'delete-claim', name: 'a' })], intensity: 6 }),
    faults: ['csi-slow', 'csi-past-deadline', 'csi-lost-after', 'csi-crash-after', 'kube-crash-after'],
    seeds: 60,
  },
  {
    name: 'a pod moves to another node while the first is down',
    was: 'Kubernetes: Multi-Attach errors, and volumes attached to two nodes',
    plan: plan({
      nodes: 2,
      steps: [claim(1), pod(2, 'p', { node: 'n1' }), podGone(20, 'p', 0), pod(21, 'q', { node: 'n2' })],
      events: [event(19, 'node-lost', 'n1', 40)],
      intensity: 1,
    }),
    faults: ['node-lost', 'csi-slow', 'csi-lost-after', 'kube-lost-after'],
    seeds: 20,
  },
  {
    name: 'the leader loses its lease in the middle of a call',
    was: 'sidecars: two leaders that attach and detach against each other',
    plan: plan({
      driver: { replicas: 2 },
      steps: [claim(10), pod(11), podGone(30), claimGone(31)],
      events: [
        event(9, 'lease-stall', 'provisioner-d1-0', 30),
        event(9, 'lease-stall', 'attacher-d1-0', 30),
        event(25, 'lease-stall', 'attacher-d1-1', 30),
      ],
      intensity: 2,
    }),
    faults: ['lease-stall', 'csi-slow', 'csi-past-deadline'],
    seeds: 20,
  },
  {
    name: 'the storage says that a volume is detached before it is',
    was: 'cloud drivers: the next attach fails for a while and has to be repeated',
    plan: plan({
      nodes: 2,
      steps: [claim(1), pod(2, 'p', { node: 'n1' }), podGone(20), pod(22, 'q', { node: 'n2' })],
      events: [event(15, 'storage-lies', FULL.name, 30)],
    }),
    faults: ['storage-lies'],
    seeds: 5,
  },
  {
    name: 'a node reboots with volumes mounted',
    was: 'kubelet: pods stuck in Terminating because their mounts were gone',
    plan: plan({
      steps: [claim(1), pod(2), podGone(40)],
      events: [event(30, 'node-reboot', 'n1', 5)],
      intensity: 1,
    }),
    faults: ['node-reboot', 'csi-lost-before', 'kube-lost-before'],
    seeds: 20,
  },
  {
    name: 'secrets are deleted before their volume is',
    was: 'external-provisioner: volumes that can never be deleted, without a word why',
    plan: plan({
      classes: { secrets: true },
      steps: [
        claim(1),
        pod(2),
        at(20, { do: 'delete-secret', className: NOW.name }),
        podGone(25),
        claimGone(26),
      ],
    }),
    faults: [],
    seeds: 3,
  },
  {
    name: 'a driver restarts with another answer to NodeGetInfo while its first one is being written',
    was: 'found here: the node followed the connection only after that, and kept the first answer for ever',
    plan: plan({
      steps: [claim(20), pod(21)],
      // An odd time: the registrar runs on, so there is no new socket.
      events: [event(0.5, 'driver-restart', FULL.name, 0.001, 'limit')],
      script: [{ fault: 'kube-slow', process: 'node-n1', call: 'create csinodes', nth: 1 }],
    }),
    faults: ['driver-restart'],
    seeds: 5,
  },
  {
    name: 'the driver goes away while its sidecars ask it who it is',
    was: 'found here: they ended instead of waiting for it',
    plan: plan({
      driver: { replicas: 2 },
      steps: [claim(20), pod(21)],
      events: Array.from({ length: 12 }, (_, index) =>
        event(0.002 + index / 1000, 'driver-down', FULL.name, 1 + index),
      ),
    }),
    faults: ['driver-down'],
    seeds: 10,
  },
  {
    name: 'the storage is full for a while',
    was: 'external-provisioner: claims that are never tried again',
    plan: plan({ steps: [claim(10), pod(11)], events: [event(5, 'storage-full', FULL.name, 60)] }),
    faults: ['storage-full'],
    seeds: 3,
  },
  {
    name: '[SIDE-2] a snapshot is deleted while a CreateSnapshot that was repeated for it is late',
    was: 'found here: the late call cut the snapshot again after its deletion',
    plan: plan({
      driver: { snapshots: 'single', readyMs: 20_000 },
      steps: [claim(1), snapshot(5), snapshotGone(8)],
      script: [{ fault: 'csi-past-deadline', process: 'snapshotter-d1-0', call: 'CreateSnapshot', nth: 2 }],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: '[GRP-1] a member is deleted before its group snapshot is ready',
    was: 'found here: the member was no longer followed, and the group never became ready',
    plan: plan({
      driver: { snapshots: 'groups', readyMs: 20_000 },
      steps: [claim(1), claim(1.2, 'a-more'), group(5), at(10, { do: 'delete-member', group: 'g' })],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: 'a snapshot that a claim waits for is deleted before it is ready, and so is its source',
    was: 'found here: the snapshot was no longer followed, and its source claim stayed for ever',
    plan: plan({
      driver: { snapshots: 'single', readyMs: 20_000 },
      steps: [claim(1), snapshot(5), restored(6), snapshotGone(8), claimGone(9)],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: 'a snapshot that was not cut yet is deleted with its source, and a claim wants to restore it',
    was: 'found here: the content was given up, and the source claim waited for it to be cut',
    plan: plan({
      driver: { snapshots: 'single' },
      steps: [claim(1), snapshot(5), claimGone(7), snapshotGone(8), restored(9)],
      script: [
        ...[1, 2, 3].map(
          (nth): Strike => ({
            fault: 'csi-refused',
            process: 'snapshotter-d1-0',
            call: 'CreateSnapshot',
            nth,
          }),
        ),
        {
          fault: 'kube-crash-after',
          process: 'snapshot-controller',
          call: 'patch volumesnapshotcontents',
          nth: 1,
        },
      ],
    }),
    faults: ['csi-refused', 'kube-crash-after'],
    seeds: 20,
  },
  {
    name: 'a snapshot and its source are deleted while the request that creates its content is late',
    was: 'found here (384605962): the source was let go because there was no content yet, and deleted while it was cut',
    plan: plan({
      driver: { snapshots: 'single' },
      steps: [claim(1), snapshot(5), claimGone(5.5), restored(5.6), snapshotGone(5.7)],
      script: [
        {
          fault: 'kube-slow',
          process: 'snapshot-controller',
          call: 'create volumesnapshotcontents',
          nth: 1,
        },
        { fault: 'csi-lost-after', process: 'provisioner-d1-0', call: 'DeleteVolume', nth: 1 },
        ...[1, 2, 3].map(
          (nth): Strike => ({
            fault: 'csi-lost-before',
            process: 'snapshotter-d1-0',
            call: 'CreateSnapshot',
            nth,
          }),
        ),
      ],
    }),
    faults: ['kube-slow'],
    seeds: 10,
  },
  {
    name: 'a claim that restores a snapshot and the snapshot are deleted while the provisioner is down',
    was: 'found here (36530948): its start released the snapshot, and asked for a volume from it to find out what was made',
    plan: plan({
      driver: { snapshots: 'single', copyMs: 4_000 },
      steps: [claim(1), snapshot(5), restored(10), claimGone(10.4, 'restored'), snapshotGone(10.5)],
      script: [{ fault: 'csi-crash-before', process: 'provisioner-d1-0', call: 'CreateVolume', nth: 2 }],
    }),
    faults: [],
    seeds: 10,
  },
  {
    name: '[SCL-1] a claim that restores a snapshot is deleted before a slow request has protected the snapshot',
    was: 'found here (123053108): every replica had looked at the snapshot by then, which stayed protected',
    plan: {
      ...plan({
        driver: { snapshots: 'single', replicas: 2 },
        steps: [claim(1), snapshot(15), restored(30), claimGone(30.3, 'restored'), snapshotGone(50)],
        script: [0, 1].map(
          (replica): Strike => ({
            fault: 'kube-slow',
            process: `provisioner-d1-${replica}`,
            call: 'patch volumesnapshots',
            nth: 1,
          }),
        ),
      }),
      isSharded: true,
    },
    faults: [],
    seeds: 5,
  },
  {
    name: '[GRP-1] the watch of group contents is silent when one is created',
    was: 'found here (290247033): it was created sixteen times a run',
    plan: plan({
      driver: { snapshots: 'groups' },
      steps: [claim(1), claim(1.2, 'a-more'), group(5)],
      script: [
        watch('watch-stalled', 'snapshot-controller', 'volumegroupsnapshotcontents', {
          afterMs: 3_000,
          forMs: 60_000,
        }),
      ],
    }),
    faults: [],
    seeds: 3,
  },
  {
    name: '[GRP-1] a claim is deleted after a group snapshot protected it and before it is cut',
    was: 'found here: the claim waited for the group snapshot, which waited for the claim to be gone',
    plan: plan({
      driver: { snapshots: 'groups' },
      steps: [claim(1), claim(1.2, 'a-more'), group(5), claimGone(5.15, 'a-more')],
      script: [
        {
          fault: 'kube-crash-after',
          process: 'snapshot-controller',
          call: 'patch persistentvolumeclaims',
          nth: 2,
        },
      ],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: '[GRP-1] one claim of a group snapshot is deleted before it is protected and under its pod, another one after',
    was: 'found here: the protected claim waited for the group snapshot, which waited for the pod of the other',
    plan: plan({
      driver: { snapshots: 'groups' },
      steps: [
        claim(1),
        claim(1.2, 'a-more'),
        at(2, { do: 'create-pod', name: 'p', claims: ['a-more'] }),
        group(5),
        claimGone(6, 'a-more'),
        claimGone(20),
      ],
      script: [
        {
          fault: 'kube-429',
          process: 'snapshot-controller',
          call: 'patch persistentvolumeclaims',
          nth: 2,
        },
      ],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: '[GRP-1] a member and its group snapshot are deleted while the content of the member is being created',
    was: 'found here: the content was created after its snapshot was gone, and stayed for ever',
    plan: plan({
      driver: { snapshots: 'groups' },
      steps: [
        claim(1),
        claim(1.2, 'a-more'),
        group(5),
        at(5.6, { do: 'delete-member', group: 'g' }),
        at(5.8, { do: 'delete-group', name: 'g' }),
      ],
      script: [
        {
          fault: 'kube-slow',
          process: 'snapshot-controller',
          call: 'create volumesnapshotcontents',
          nth: 1,
        },
      ],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: '[GRP-1] a group snapshot is deleted before its member is ready, which a claim restores',
    was: 'found here: the source of the member was kept for it, and it never became ready',
    plan: plan({
      driver: { snapshots: 'groups' },
      steps: [
        claim(1),
        claim(1.2, 'a-more'),
        group(5),
        at(5.3, {
          do: 'create-claim',
          name: 'restored',
          className: NOW.name,
          mode: 'ReadWriteOnce',
          from: { group: 'g' },
        }),
        at(5.5, { do: 'delete-group', name: 'g' }),
        claimGone(6),
      ],
      script: [1, 2, 3, 4, 5, 6].map((nth) => ({
        fault: 'kube-429',
        process: 'snapshot-controller',
        call: 'patch volumesnapshotcontents',
        nth,
      })),
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: '[GRP-1] the snapshot controller dies between the content of a member and its handle',
    was: 'found here: the member was bound without a handle, the group took it for complete, and neither became ready',
    plan: plan({
      driver: { snapshots: 'groups' },
      steps: [claim(1), claim(1.2, 'a-more'), group(5)],
      script: [
        {
          fault: 'kube-crash-after',
          process: 'snapshot-controller',
          call: 'create volumesnapshotcontents',
          nth: 2,
        },
        // After the restart the member's own reconciler is ahead of the group's.
        {
          fault: 'kube-lost-before',
          process: 'snapshot-controller',
          call: 'create volumesnapshotcontents',
          nth: 3,
        },
      ],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: '[GRP-1] a group snapshot is cut while the snapshot controller does not see its members',
    was: 'found here: the members were created again and again, sixteen times a run',
    plan: plan({
      driver: { snapshots: 'groups', readyMs: 60_000 },
      steps: [claim(1), claim(1.2, 'a-more'), group(5)],
      script: [
        watch('watch-stalled', 'snapshot-controller', 'volumesnapshots', { afterMs: 3_000, forMs: 60_000 }),
      ],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: '[PROV-4] the provisioner dies in a restore, and both the claim and its snapshot are deleted before it is back',
    was: 'found here: the request could not be repeated without the snapshot, and the volume was left behind',
    plan: plan({
      driver: { snapshots: 'single' },
      steps: [
        claim(1),
        snapshot(5),
        restored(10),
        snapshotGone(10.5),
        at(11, { do: 'delete-claim', name: 'restored' }),
      ],
      script: [{ fault: 'csi-crash-after', process: 'provisioner-d1-0', call: 'CreateVolume', nth: 2 }],
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: '[MNT-2] the wall clock is set back three times while a pod has its grace period',
    was: 'found here: the node waited until the wall clock was where it had been, the sum of all jumps later',
    plan: plan({
      steps: [claim(1), pod(5), podGone(20, 'p', 5)],
      // An odd number of milliseconds sets it back, by ten times as much.
      events: [21, 22, 23].map((seconds) => event(seconds, 'clock-jump', 'wall clock', 39.999)),
    }),
    faults: ['clock-jump'],
    seeds: 3,
  },
  {
    name: '[ATT-6] a volume was attached, the answer to that write is lost, and then the node ID changes',
    was: 'found here: the attacher undid what its late cache did not show yet, under the mount of a running pod',
    plan: plan({
      steps: [claim(1), pod(5)],
      events: [event(7.3, 'driver-restart', FULL.name, 2, 'node ID')],
      script: [
        watch('watch-late', 'attacher-d1-0', 'volumeattachments', { forMs: 2_000 }),
        { fault: 'kube-lost-after', process: 'attacher-d1-0', call: 'patch volumeattachments', nth: 2 },
      ],
    }),
    faults: ['driver-restart'],
    seeds: 10,
  },
  {
    name: '[PROV-4] the provisioner dies twice before the intent of a restore, whose claim and snapshot are deleted, leaves the ledger',
    was: 'found here: the snapshot was released half a second before that, and the next process asked for its volume again',
    plan: plan({
      driver: { snapshots: 'single', copyMs: 3_000 },
      steps: [
        claim(1),
        snapshot(5),
        restored(10),
        at(11, { do: 'delete-claim', name: 'restored' }),
        snapshotGone(12),
      ],
      // Instead of the writes that drop it: by the first process, and by the second, which has asked again.
      script: [3, 5].map((nth) => ({
        fault: 'kube-crash-before',
        process: 'provisioner-d1-0',
        call: 'update leases',
        nth,
      })),
    }),
    faults: [],
    seeds: 5,
  },
  {
    name: 'snapshots are cut, restored and deleted while everything fails',
    was: 'nothing, and it must stay so: a snapshot without an owner, a restore from nothing',
    plan: plan({
      driver: { snapshots: 'single', readyMs: 5_000, replicas: 2 },
      steps: [claim(1), pod(2), snapshot(5), restored(9), snapshotGone(20), snapshot(21), claimGone(40)],
      events: [
        event(8, 'process-crash', 'snapshot-controller', 3),
        event(12, 'process-crash', 'snapshotter-d1-0', 3),
      ],
      intensity: 3,
    }),
    faults: ALL_FAULTS,
    seeds: 10,
  },
];
