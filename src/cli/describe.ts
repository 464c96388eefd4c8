// `berth describe`: shows an object in detail, with its events.

import { type Event, events } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import { formatDuration } from '../runtime/flags/duration.ts';
import type { HttpKubeClient } from '../runtime/kube/http-kube-client.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand } from './command.ts';
import { objectArguments } from './objects/find-resource.ts';
import { connectionFlags, selectionFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';
import { aligned } from './objects/print-table.ts';

export const command = defineCommand({
  summary: 'Shows objects in detail, with their events',
  arguments: { usage: 'KIND [NAME…] | KIND/NAME…', min: 1, max: 100 },
  completes: 'objects',
  flags: { ...connectionFlags, ...selectionFlags },
  async run({ flags, args, env, log, signal, stdout }) {
    await using client = await openClient({ flags, env, log });
    const { kube, defaultNamespace } = client;
    const { resources } = await kube.servedResources({ signal });
    const namespace = flags.namespace ?? flags.n ?? defaultNamespace;
    const isWide = flags.allNamespaces || flags.A;
    const selector = flags.selector ?? flags.l;
    let first = true;
    for (const { resource, name } of objectArguments(resources, args)) {
      const within = resource.namespaced && !isWide ? { namespace } : {};
      const found =
        name !== undefined
          ? [await kube.get(resource, { name, ...within }, { signal })]
          : (await kube.list(resource, { ...within, ...(selector && { labelSelector: selector }), signal }))
              .items;
      for (const object of found) {
        if (!first) stdout.write('\n\n');
        first = false;
        for (const line of describeObject({ ...object, kind: resource.kind })) stdout.write(`${line}\n`);
        for (const line of describeEvents(await eventsOf(kube, object, signal), realClock.now())) {
          stdout.write(`${line}\n`);
        }
      }
    }
  },
});

async function eventsOf(
  kube: HttpKubeClient,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<Event[]> {
  // Events of cluster-scoped objects are in the default namespace.
  const namespace = metadata.namespace ?? 'default';
  const fieldSelector = `involvedObject.uid=${metadata.uid}`;
  return (await kube.list(events, { namespace, fieldSelector, signal })).items;
}

function describeObject(object: KubeObject): string[] {
  const { metadata, kind, apiVersion: _version, ...rest } = object;
  const { name, namespace, labels, annotations, creationTimestamp, deletionTimestamp } = metadata;
  const { finalizers, ownerReferences } = metadata;
  const head = {
    Name: name,
    ...(namespace && { Namespace: namespace }),
    Labels: labels ?? '<none>',
    Annotations: annotations ?? '<none>',
    Created: creationTimestamp,
    ...(deletionTimestamp && { 'Being deleted since': deletionTimestamp }),
    ...(finalizers?.length && { Finalizers: finalizers }),
    ...(ownerReferences?.length && {
      'Owned by': ownerReferences.map((owner) => `${owner.kind}/${owner.name}`),
    }),
  };
  return [...fields(head, ''), ...fields(kind === 'Secret' ? withoutContents(rest) : rest, '')];
}

/** For a Secret only the sizes of its entries are shown. */
function withoutContents(secret: object): object {
  const { data = {}, ...rest } = secret as { data?: Record<string, string> };
  const sizes = Object.entries(data).map(([key, text]) => [
    key,
    `${Buffer.from(text, 'base64').length} bytes`,
  ]);
  return { ...rest, data: Object.fromEntries(sizes) };
}

function fields(value: object, indent: string): string[] {
  return Object.entries(value).flatMap(([key, each]) => field(titled(key, indent), each, indent));
}

function field(key: string, value: unknown, indent: string): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string' && value.includes('\n')) {
    // Indented, so that no line of a value can pass for another field.
    return [`${indent}${key}:`, ...value.split('\n').map((line) => `${indent}  ${line}`)];
  }
  if (typeof value !== 'object') return [`${indent}${key}: ${value}`];
  if (Array.isArray(value)) {
    if (value.every((each) => typeof each !== 'object')) return [`${indent}${key}: ${value.join(', ')}`];
    return [`${indent}${key}:`, ...value.flatMap((each) => item(each, `${indent}  `))];
  }
  return [`${indent}${key}:`, ...fields(value, `${indent}  `)];
}

function item(value: unknown, indent: string): string[] {
  const [first = '', ...rest] =
    typeof value === 'object' && value !== null ? fields(value, `${indent}  `) : [`${indent}  ${value}`];
  return [`${indent}- ${first.trimStart()}`, ...rest];
}

/** Top-level fields become headings; nested names stay as in manifests. */
function titled(key: string, indent: string): string {
  return indent === '' ? key.charAt(0).toUpperCase() + key.slice(1) : key;
}

function describeEvents(found: readonly Event[], nowMs: number): string[] {
  if (found.length === 0) return ['Events: <none>'];
  const rows = found
    .toSorted((a, b) => lastSeen(a) - lastSeen(b))
    .map((event) => [
      `  ${event.type ?? ''}`,
      event.reason ?? '',
      `${formatDuration(Math.max(0, Math.floor((nowMs - lastSeen(event)) / 1000)) * 1000)}${(event.count ?? 1) > 1 ? ` (x${event.count})` : ''}`,
      event.source?.component ?? event.reportingComponent ?? '',
      event.message ?? '',
    ]);
  return ['Events:', ...aligned([['  Type', 'Reason', 'Age', 'From', 'Message'], ...rows])];
}

function lastSeen(event: Event): number {
  return Date.parse(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp);
}
