// The details of one claim, volume or pod: explanation, events, steps. Pure, except for reading the recorded steps.

import type { Event, PersistentVolume } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import { explain, type Subject } from '../why/explain.ts';
import type { Observation } from './observed.ts';
import type { EventLine, Step, SubjectDetails } from './page-messages.ts';
import type { StepSource } from './step-source.ts';

const MOST_EVENTS = 50;
/** kubectl stores the whole applied manifest in it, environment variables included. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export interface AskedSubject {
  readonly kind: Subject;
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
  const { namespace, name, uid } = object.metadata;
  return {
    kind: asked.kind,
    ...(namespace && { namespace }),
    name,
    links: explain(observation, asked.kind, object),
    events: observation.events
      .filter(({ involvedObject }) => involvedObject.uid === uid)
      .map(eventLine)
      .toSorted((a, b) => b.atMs - a.atMs)
      .slice(0, MOST_EVENTS),
    steps: stepsOf(object, asked, stepSource),
    object: shown(object),
  };
}

function find(observation: Observation, { kind, namespace, name }: AskedSubject): KubeObject | undefined {
  const { pods, claims, volumes } = observation;
  const among: readonly KubeObject[] = { pod: pods, claim: claims, volume: volumes }[kind];
  return among.find(
    ({ metadata }) => metadata.name === name && (kind === 'volume' || metadata.namespace === namespace),
  );
}

/** A volume's life is told with that of its claim. */
function stepsOf(object: KubeObject, { kind }: AskedSubject, stepSource: StepSource | undefined): Step[] {
  const { namespace = '', name } =
    kind === 'volume' ? ((object as PersistentVolume).spec.claimRef ?? {}) : object.metadata;
  if (stepSource === undefined || name === undefined) return [];
  return stepSource.of({ kind: kind === 'pod' ? 'pod' : 'claim', namespace, name });
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

/** The volume-related part of a pod: arguments and environment of containers are not shown. */
function shown(object: KubeObject): unknown {
  const { managedFields: _, annotations, ...metadata } = object.metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== LAST_APPLIED);
  const head = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { ...metadata, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) },
  };
  const { spec = {}, status } = object as {
    spec?: Record<string, unknown>;
    status?: Record<string, unknown>;
  };
  if (object.kind !== 'Pod') return { ...head, spec, ...(status && { status }) };
  const { nodeName, volumes } = spec;
  const { phase, conditions, startTime } = status ?? {};
  return { ...head, spec: { nodeName, volumes }, status: { phase, conditions, startTime } };
}
