// What is different between two versions of an object, in the words of someone who follows a volume. Says only what
// matters to its life: phases, bindings, finalizers, attachments, paths. Pure.

import type {
  Event,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
} from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { ANN_PUBLISHED_VOLUMES, ANN_SELECTED_NODE, ANN_STORAGE_PROVISIONER } from '../../api/well-known.ts';

/** Each fact as text; a change is a fact that is new or gone. */
type Facts = Map<string, string>;
type FactsOf<T extends KubeObject> = (object: T) => readonly (readonly [string, string | undefined])[];

const claimFacts: FactsOf<PersistentVolumeClaim> = ({ metadata, spec, status }) => [
  ['phase', status?.phase],
  ['volume', spec.volumeName],
  ['provisioner', metadata.annotations?.[ANN_STORAGE_PROVISIONER]],
  ['selected node', metadata.annotations?.[ANN_SELECTED_NODE]],
  ['asks for', spec.resources?.requests?.storage],
  ['capacity', status?.capacity?.storage],
];

const volumeFacts: FactsOf<PersistentVolume> = ({ spec, status }) => [
  ['phase', status?.phase],
  ['claim', spec.claimRef && `${spec.claimRef.namespace}/${spec.claimRef.name}`],
  ['handle', spec.csi?.volumeHandle],
  ['capacity', spec.capacity?.storage],
];

const attachmentFacts: FactsOf<VolumeAttachment> = ({ spec, status }) => [
  ['node', spec.nodeName],
  ['attached', status?.attached === undefined ? undefined : String(status.attached)],
  ['attach error', status?.attachError?.message],
  ['detach error', status?.detachError?.message],
];

const podFacts: FactsOf<Pod> = ({ metadata, spec, status }) => [
  ['phase', status?.phase],
  ['node', spec.nodeName],
  ['published', metadata.annotations?.[ANN_PUBLISHED_VOLUMES]],
  // Conditions that fail together say the same.
  [
    'waits',
    status?.conditions?.find((condition) => condition.status === 'False' && condition.message)?.message,
  ],
];

const eventFacts: FactsOf<Event> = ({ reason, message, count }) => [
  [reason ?? 'event', message],
  ['times', count !== undefined && count > 1 ? String(count) : undefined],
];

// biome-ignore lint/suspicious/noExplicitAny: each function takes the kind that it is listed under
const FACTS: Readonly<Record<string, FactsOf<any>>> = {
  PersistentVolumeClaim: claimFacts,
  PersistentVolume: volumeFacts,
  VolumeAttachment: attachmentFacts,
  Pod: podFacts,
  Event: eventFacts,
};

/** Empty when nothing that matters changed. */
export function describeChange(before: KubeObject | undefined, after: KubeObject | undefined): string[] {
  if (after === undefined) return [];
  const was = factsOf(before);
  const is = factsOf(after);
  return [
    ...[...is].filter(([name, value]) => was.get(name) !== value).map(([name, value]) => said(name, value)),
    ...[...was.keys()].filter((name) => !is.has(name)).map((name) => `${name}: none`),
  ];
}

function said(name: string, value: string): string {
  return value === '' ? name : `${name}: ${value}`;
}

function factsOf(object: KubeObject | undefined): Facts {
  if (object === undefined) return new Map();
  const own = FACTS[object.kind]?.(object) ?? [];
  const facts = new Map(own.filter((fact): fact is [string, string] => fact[1] !== undefined));
  // Events come and go without anybody waiting for them.
  if (object.kind === 'Event') return facts;
  if (object.metadata.deletionTimestamp !== undefined) facts.set('deletion asked for', '');
  for (const finalizer of object.metadata.finalizers ?? []) facts.set(`finalizer ${finalizer}`, '');
  return facts;
}
