// Content and name of an Event, as client-go makes them. Pure.

import type { Event } from '../../api/kinds.ts';
import type { Draft, Metadata } from '../../api/object.ts';

export type EventType = 'Normal' | 'Warning';

/** The object of an event: a stored object, or as much of it as is known. */
export interface EventSubject {
  apiVersion: string;
  kind: string;
  metadata: Pick<Metadata, 'name'> & Partial<Pick<Metadata, 'namespace' | 'uid' | 'resourceVersion'>>;
}

export interface EventSource {
  component: string;
  instance?: string;
}

/** One thing to say about one object. */
export interface Remark {
  subject: EventSubject;
  type: EventType;
  reason: string;
  message: string;
}

const LONGEST_MESSAGE_BYTES = 1024;
const LONGEST_NAME = 253;
/** Where events about cluster-scoped objects live. */
const CLUSTER_SCOPED_NAMESPACE = 'default';

export function subjectKey({ subject, type }: Pick<Remark, 'subject' | 'type'>): string {
  const { namespace = '', name, uid = '' } = subject.metadata;
  return `${subject.apiVersion}\n${subject.kind}\n${namespace}\n${name}\n${uid}\n${type}`;
}

/** At most 1024 bytes of UTF-8, never half a character. */
export function truncateMessage(message: string): string {
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (message.length * 3 <= LONGEST_MESSAGE_BYTES) return message;
  const bytes = Buffer.from(message);
  if (bytes.length <= LONGEST_MESSAGE_BYTES) return message;
  let end = LONGEST_MESSAGE_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString();
}

export function eventNamespace(subject: EventSubject): string {
  return subject.metadata.namespace || CLUSTER_SCOPED_NAMESPACE;
}

/** `OBJECT.HEX`: HEX is a time in nanoseconds; `nanos`, below a million, tells two of one millisecond apart. */
export function eventName(subject: EventSubject, wallMs: number, nanos: number): string {
  const suffix = (BigInt(Math.floor(wallMs)) * 1_000_000n + BigInt(nanos)).toString(16);
  return `${subject.metadata.name.slice(0, LONGEST_NAME - suffix.length - 1)}.${suffix}`;
}

/** metav1.Time: whole seconds. */
export function eventTime(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, -5)}Z`;
}

export interface EventInit {
  remark: Remark;
  source: EventSource;
  name: string;
  count: number;
  firstMs: number;
  lastMs: number;
}

export function eventDraft({ remark, source, name, count, firstMs, lastMs }: EventInit): Draft<Event> {
  const { subject, type, reason, message } = remark;
  const { uid, resourceVersion, namespace } = subject.metadata;
  return {
    metadata: { name, namespace: eventNamespace(subject) },
    involvedObject: {
      apiVersion: subject.apiVersion,
      kind: subject.kind,
      name: subject.metadata.name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
    type,
    reason,
    message,
    count,
    firstTimestamp: eventTime(firstMs),
    lastTimestamp: eventTime(lastMs),
    source: { component: source.component },
    reportingComponent: source.component,
    reportingInstance: source.instance ?? '',
  };
}
