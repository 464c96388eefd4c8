// Collects what a bug report needs: versions, the objects of the volume subsystem, events, leases, what `berth why` says, logs and
// metrics. Only reads, never a Secret or ConfigMap. What cannot be read is noted and left out.

import type { Container, PodSpec } from 'kubernetes-types/core/v1.js';
import type { Event, Pod } from '../../api/kinds.ts';
import { apiVersionOf, type KubeObject, type Resource } from '../../api/object.ts';
import { COMMAND_LINE_PATH } from '../../cluster/cluster-server.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { Discovery, KubeClient } from '../../runtime/kube/kube.ts';
import { textOf } from '../../runtime/log/log.ts';
import type { KeptLine } from '../../trace/log-book.ts';
import { LOGS_PATH } from '../../trace/logs-path.ts';
import { TRACE_PATH } from '../../trace/trace-path.ts';
import { readFacts } from '../../why/facts.ts';
import { findTroubles } from '../../why/find-troubles.ts';
import { troubleLines } from '../why.ts';
import type { SecretStripper } from './strip-secrets.ts';

export interface BundleSource {
  kube: KubeClient & Discovery;
  /** Lines of a path of the API server. Throws where it has no such path. */
  lines(path: string): AsyncIterable<string>;
  stripper: SecretStripper;
  nowMs: number;
  /** All when undefined. */
  namespace: string | undefined;
  /** Of each container. */
  logLines: number;
  signal: AbortSignal;
}

export interface Bundle {
  /** Text by path. */
  files: Map<string, string>;
  /** What could not be read, and why. */
  unread: string[];
}

/** Groups of which every kind belongs to volumes. */
const GROUPS = /(?:^|\.)storage\.k8s\.io$/;
const KINDS: ReadonlySet<string> = new Set([
  ...['v1 PersistentVolume', 'v1 PersistentVolumeClaim', 'v1 Node', 'v1 Event', 'v1 Pod'],
  ...['apps/v1 Deployment', 'apps/v1 StatefulSet', 'apps/v1 DaemonSet'],
  'coordination.k8s.io/v1 Lease',
]);
const isWanted = (resource: Resource): boolean =>
  GROUPS.test(resource.group) || KINDS.has(`${apiVersionOf(resource)} ${resource.kind}`);

export async function collectBundle(source: BundleSource): Promise<Bundle> {
  const bundle: Bundle = { files: new Map(), unread: [] };
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      source.signal.throwIfAborted();
      bundle.unread.push(`${what}: ${source.stripper.text(errorMessage(error))}`);
    }
  };
  const add = (path: string, text: string): void => {
    if (text !== '') bundle.files.set(path, text);
  };
  let programs: Pod[] = [];
  const subjects: string[] = [];
  await attempt('version of the server', async () =>
    add('server-version.json', await textAt(source, '/version')),
  );
  await attempt('objects', async () => {
    const { resources } = await source.kube.servedResources({ signal: source.signal });
    add('served-kinds.txt', `${resources.map((each) => `${apiVersionOf(each)} ${each.kind}`).join('\n')}\n`);
    for (const resource of resources.filter(isWanted)) {
      await attempt(`${resource.plural}.${resource.group || 'core'}`, async () => {
        const objects = await listed(source, resource);
        if (resource.kind === 'Pod') programs = (objects as Pod[]).filter(isProgram);
        const json = objects.map((object) => source.stripper.object(object));
        const name = [resource.plural, resource.group].filter(Boolean).join('.');
        if (json.length > 0) add(`objects/${name}.json`, `${JSON.stringify(json, undefined, 1)}\n`);
      });
    }
  });
  await attempt('why', async () => {
    const { namespace, nowMs, signal } = source;
    const facts = await readFacts(source.kube, { nowMs, namespace, signal });
    const troubles = findTroubles(facts);
    add('why.txt', source.stripper.text(`${troubleLines(troubles, facts).join('\n')}\n`));
    for (const subject of new Set(troubles.flatMap(({ affects }) => affects))) subjects.push(subject);
    add(
      'why.json',
      `${source.stripper.text(JSON.stringify({ troubles, unread: facts.unread }, undefined, 1))}\n`,
    );
  });
  for (const pod of programs) await readProgram(source, pod, attempt, add);
  await readOwn(source, subjects, attempt, add);
  return bundle;
}

type Attempt = (what: string, work: () => Promise<void>) => Promise<void>;
type Add = (path: string, text: string) => void;

/** Of pods and workloads only those that have volumes of claims or drivers, or that are part of the subsystem. */
async function listed({ kube, namespace, signal }: BundleSource, resource: Resource): Promise<KubeObject[]> {
  const { items } = await kube.list(resource, {
    signal,
    ...(namespace !== undefined && resource.namespaced && { namespace }),
  });
  // A list's items have neither.
  const whole = items.map((item) => ({ ...item, apiVersion: apiVersionOf(resource), kind: resource.kind }));
  if (resource.kind === 'Event') return whole.filter((event) => isAboutVolumes(event as Event));
  if (resource.kind === 'Pod') return whole.filter((pod) => hasVolumes(pod as Pod) || isProgram(pod as Pod));
  return resource.group === 'apps' ? whole.filter(isProgramOwner) : whole;
}

const VOLUME_KINDS = /Volume|Snapshot|CSI|Storage|^(?:Pod|Node|Deployment|StatefulSet|DaemonSet|Lease)$/;
const isAboutVolumes = ({ involvedObject }: Event): boolean => VOLUME_KINDS.test(involvedObject?.kind ?? '');

const hasVolumes = ({ spec }: Pod): boolean =>
  (spec?.volumes ?? []).some((volume) => volume.persistentVolumeClaim ?? volume.csi ?? volume.ephemeral);

const SUBSYSTEM = /\bcsi\b|csi-|-csi|berth|snapshot-controller|livenessprobe/;
const isPart = ({ image = '', command = [], args = [] }: Container): boolean =>
  SUBSYSTEM.test(image) ||
  command[0] === 'berth' ||
  args.some((argument) => argument.startsWith('--csi-address'));
const containersOf = (spec: PodSpec | undefined): Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];
const hasParts = (spec: PodSpec | undefined): boolean => containersOf(spec).some(isPart);

/** A driver, a sidecar or a controller of snapshots. */
const isProgram = ({ spec }: Pod): boolean => hasParts(spec);
const isProgramOwner = (object: KubeObject): boolean =>
  hasParts((object as { spec?: { template?: { spec?: PodSpec } } }).spec?.template?.spec);

/** Logs and metrics of the containers of a pod. */
async function readProgram(source: BundleSource, pod: Pod, attempt: Attempt, add: Add): Promise<void> {
  const { name, namespace = '' } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const statuses = [...initContainerStatuses, ...containerStatuses];
  for (const container of containersOf(pod.spec)) {
    const place = `${namespace}/${name}/${container.name}`;
    const status = statuses.find((each) => each.name === container.name);
    for (const previous of status?.restartCount ? [false, true] : [false]) {
      await attempt(`${previous ? 'earlier log' : 'log'} of ${place}`, async () => {
        const query = new URLSearchParams({
          container: container.name,
          tailLines: String(source.logLines),
          previous: String(previous),
        });
        const text = await textAt(source, `${path}/log?${query}`);
        add(`logs/${place}${previous ? '.previous' : ''}.log`, text);
      });
    }
    for (const { containerPort, name: port = '' } of container.ports ?? []) {
      if (!/http|metrics/.test(port)) continue;
      await attempt(`metrics of ${place}`, async () => {
        const text = await textAt(
          source,
          `/api/v1/namespaces/${namespace}/pods/${name}:${containerPort}/proxy/metrics`,
        );
        add(`metrics/${place}.${containerPort}.txt`, text);
      });
    }
  }
}

/** What is traced of those that are not well. */
const TRACED = new Map([
  ['Pod', 'pod'],
  ['PersistentVolumeClaim', 'claim'],
]);
const MOST_TRACES = 50;

/** Command line, logs, metrics and traces of `berth up`. Other servers have no such paths. */
async function readOwn(
  source: BundleSource,
  subjects: readonly string[],
  attempt: Attempt,
  add: Add,
): Promise<void> {
  await attempt('command line of berth up', async () => {
    const given: string[] = [];
    for await (const line of source.lines(COMMAND_LINE_PATH)) given.push(JSON.parse(line) as string);
    add('berth-up-command-line.txt', `${source.stripper.arguments(given).join('\n')}\n`);
  });
  await attempt('logs of berth up', async () => {
    const lines: string[] = [];
    for await (const line of source.lines(LOGS_PATH)) {
      const kept = JSON.parse(line) as KeptLine;
      lines.push(`${new Date(kept.atMs).toISOString()} ${kept.level.toUpperCase()} ${textOf(kept)}`);
    }
    add('logs/berth-up.log', source.stripper.text(`${lines.join('\n')}\n`));
  });
  for (const subject of subjects.slice(0, MOST_TRACES)) {
    const [, kind = '', namespace = '', name = ''] = /^(\w+) ([\w.-]+)\/([\w.-]+)$/.exec(subject) ?? [];
    const traced = TRACED.get(kind);
    if (traced === undefined) continue;
    await attempt(`trace of ${subject}`, async () => {
      const query = new URLSearchParams({ kind: traced, namespace, name });
      add(`traces/${traced}/${namespace}/${name}.jsonl`, await textAt(source, `${TRACE_PATH}?${query}`));
    });
  }
  await attempt('metrics of berth up', async () => {
    for await (const part of source.lines('/berth/metrics')) {
      add(`metrics/berth-up/${part}.txt`, await textAt(source, `/berth/metrics?part=${part}`));
    }
  });
}

async function textAt({ lines, stripper }: BundleSource, path: string): Promise<string> {
  const read: string[] = [];
  for await (const line of lines(path)) read.push(line);
  return read.length === 0 ? '' : stripper.text(`${read.join('\n')}\n`);
}
