// The details of one object: explanation, events, steps, and for storage where it can be used. Pure, except for reading the recorded steps.

import type { Event, PersistentVolume, PersistentVolumeClaim, StorageClass } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import { explain } from '../why/explain.ts';
import { volumeNamed } from '../why/fact-index.ts';
import type { Observation } from './observed.ts';
import type { EventLine, MapSegment, Step, SubjectDetails, SubjectKind } from './page-messages.ts';
import type { StepSource } from './step-source.ts';
import { topologyMap, volumeMap } from './topology-map.ts';

const MOST_EVENTS = 50;
/** kubectl stores the whole applied manifest in it, environment variables included. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export interface AskedSubject {
  readonly kind: SubjectKind;
  readonly namespace: string;
  readonly name: string;
}

/** Undefined when there is no such object. */
export function subjectDetails(
  observation: Observation,
  asked: AskedSubject,
  stepSource: StepSource | undefined,
): SubjectDetails | undefined {
  const object = find(observation, asked);
  if (object === undefined) return undefined;
  const { namespace, name } = object.metadata;
  const map = mapOf(observation, asked.kind, object);
  return {
    kind: asked.kind,
    ...(namespace && { namespace }),
    name,
    links: explain(observation, asked.kind, object),
    events: observation.events
      .filter(({ involvedObject }) => isAbout(involvedObject, object))
      .map(eventLine)
      .toSorted((a, b) => b.atMs - a.atMs)
      .slice(0, MOST_EVENTS),
    steps: stepsOf(object, asked, stepSource),
    ...(map && map.length > 0 && { map }),
    object: shown(object),
  };
}

/** A kubelet reports events about its node with the node's name as UID. */
const isAbout = ({ kind, name, uid }: Event['involvedObject'], { kind: ofKind, metadata }: KubeObject) =>
  uid === metadata.uid || (ofKind === 'Node' && kind === 'Node' && name === metadata.name);

function find(observation: Observation, { kind, namespace, name }: AskedSubject): KubeObject | undefined {
  const { pods, claims, volumes, snapshots, groups, nodes, drivers, classes } = observation;
  const among: readonly KubeObject[] = {
    pod: pods,
    claim: claims,
    volume: volumes,
    snapshot: snapshots,
    group: groups,
    node: nodes,
    driver: drivers,
    class: classes,
  }[kind];
  return among.find(
    ({ metadata }) =>
      metadata.name === name && (metadata.namespace === undefined || metadata.namespace === namespace),
  );
}

function mapOf(
  observation: Observation,
  kind: AskedSubject['kind'],
  object: KubeObject,
): MapSegment[] | undefined {
  switch (kind) {
    case 'driver':
      return topologyMap(observation, { driver: object.metadata.name });
    case 'class':
      return topologyMap(observation, {
        driver: (object as StorageClass).provisioner,
        className: object.metadata.name,
      });
    case 'volume':
      return volumeMap(observation, object as PersistentVolume);
    case 'claim':
      return volumeMap(
        observation,
        volumeNamed(observation, (object as PersistentVolumeClaim).spec.volumeName),
      );
    default:
      return undefined;
  }
}

/** A volume's life is told with that of its claim; of nodes, drivers and classes nothing is recorded. */
function stepsOf(object: KubeObject, { kind }: AskedSubject, stepSource: StepSource | undefined): Step[] {
  if (stepSource === undefined) return [];
  const { namespace = '', name } =
    kind === 'volume' ? ((object as PersistentVolume).spec.claimRef ?? {}) : object.metadata;
  if (name === undefined) return [];
  switch (kind) {
    case 'volume':
      return stepSource.of({ kind: 'claim', namespace, name });
    case 'claim':
    case 'pod':
    case 'snapshot':
    case 'group':
      return stepSource.of({ kind, namespace, name });
    default:
      return [];
  }
}

function eventLine(event: Event): EventLine {
  return {
    atMs: Date.parse(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp),
    type: event.type ?? 'Normal',
    by: event.source?.component ?? event.reportingComponent ?? '',
    reason: event.reason ?? '',
    message: event.message ?? '',
    count: event.count ?? 1,
  };
}

/** Arguments and environment of containers, and what a driver's class passes to it, are not shown: they may hold secrets. */
function shown(object: KubeObject): unknown {
  const { managedFields: _, annotations, ...metadata } = object.metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== LAST_APPLIED);
  const { apiVersion, kind, ...rest } = object as KubeObject & {
    spec?: Record<string, unknown>;
    status?: Record<string, unknown>;
    parameters?: unknown;
  };
  const { spec = {}, status = {}, parameters: __, metadata: ___, ...others } = rest;
  const head = {
    apiVersion,
    kind,
    metadata: { ...metadata, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) },
  };
  switch (kind) {
    case 'Pod': {
      const { nodeName, volumes } = spec;
      const { phase, conditions, startTime } = status;
      return { ...head, spec: { nodeName, volumes }, status: { phase, conditions, startTime } };
    }
    case 'Node': {
      const { conditions, volumesAttached, volumesInUse } = status;
      return { ...head, spec, status: { conditions, volumesAttached, volumesInUse } };
    }
    case 'StorageClass':
      return { ...head, ...others };
    default:
      return { ...head, spec, ...(rest.status && { status }) };
  }
}
