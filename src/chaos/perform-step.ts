// Does one step of a scenario to a running cluster.

import {
  persistentVolumeClaims,
  pods,
  statefulSets,
  volumeGroupSnapshots,
  volumeSnapshots,
} from '../api/kinds.ts';
import { apiVersionOf, type Draft, type KubeObject, type Resource } from '../api/object.ts';
import type { Cluster } from '../cluster/start-cluster.ts';
import { fromClaim, NAMESPACE, onNode, pod } from '../demo/story-objects.ts';
import { FaultError } from '../faults/parse-fault.ts';
import { formatDuration } from '../runtime/flags/duration.ts';
import { nearestOf } from '../runtime/flags/parse-flags.ts';
import { ifThere } from '../runtime/kube/if-there.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import type { Clock } from '../runtime/ports.ts';
import { formatCondition } from './condition.ts';
import type { ScenarioStep } from './scenario.ts';

export interface StepPorts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A step that could not be done: the message is the report. */
export class StepError extends Error {
  override readonly name = 'StepError';
}

const SIZE = '64Mi';
const FIELD_MANAGER = 'berth-chaos';
/** In this order: a claim waits for its pods and snapshots. */
const DELETED: readonly Resource<KubeObject>[] = [
  statefulSets,
  pods,
  volumeGroupSnapshots,
  volumeSnapshots,
  persistentVolumeClaims,
] as readonly Resource<KubeObject>[];
const DRIVER = 'driver';
const AT_ONCE = ' at once';

/** For reports: kinds and names, never the content of an object. */
export function describeStep(step: ScenarioStep): string {
  switch (step.do) {
    case 'volumes':
      return `create ${step.count === 1 ? '1 claim with a pod' : `${step.count} claims with a pod each`}${step.node === undefined ? '' : ` on ${step.node}`}`;
    case 'apply':
      return `apply ${step.objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`).join(', ')}`;
    case 'delete':
      return `delete ${step.what.join(', ')}`;
    case 'fault':
      return `fault ${step.faults.join('; ')}`;
    case 'lift':
      return 'lift all faults';
    case 'wait':
      return `wait ${formatDuration(step.ms)}`;
    case 'expect':
      return `expect ${formatCondition(step.condition)}`;
    default:
      return `${step.do} ${step.component}`;
  }
}

/** Throws a StepError when the step cannot be done. */
export async function performStep(
  step: Exclude<ScenarioStep, { do: 'expect' }>,
  ports: StepPorts,
): Promise<void> {
  try {
    await perform(step, ports);
  } catch (error) {
    ports.signal.throwIfAborted();
    if (error instanceof KubeError || error instanceof FaultError) {
      throw new StepError(error.message, { cause: error });
    }
    throw error;
  }
}

async function perform(step: Exclude<ScenarioStep, { do: 'expect' }>, ports: StepPorts): Promise<void> {
  const { cluster, clock, signal } = ports;
  const { faults } = cluster;
  switch (step.do) {
    case 'volumes':
      return createVolumes(cluster, step);
    case 'apply':
      return applyObjects(cluster, step.objects);
    case 'delete':
      for (const each of step.what) await deleteObjects(cluster, each);
      return;
    case 'fault':
      for (const fault of step.faults) faults.active.add(fault);
      return;
    case 'lift':
      faults.active.removeAll();
      return;
    case 'wait':
      return clock.sleep(step.ms, signal);
    default:
      changeComponent(cluster, step);
  }
}

async function createVolumes(
  { server }: Cluster,
  { count, node }: { count: number; node?: string },
): Promise<void> {
  const kube = server.client(server.adminUser);
  const place = node === undefined ? {} : onNode(node);
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  await Promise.all(
    numbers.map(async (number) => {
      const name = `data-${number}`;
      await kube.create(persistentVolumeClaims, {
        metadata: { name, namespace: NAMESPACE },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: SIZE } } },
      });
      await kube.create(pods, pod(`pod-${number}`, fromClaim(name), place));
    }),
  );
}

async function applyObjects({ server }: Cluster, objects: readonly KubeObject[]): Promise<void> {
  const kube = server.client(server.adminUser);
  const { resources } = await kube.servedResources();
  for (const object of objects) {
    const resource = resources.find(
      (each) => each.kind === object.kind && apiVersionOf(each) === object.apiVersion,
    );
    if (resource === undefined) {
      throw new StepError(`the server has no kind ${object.kind} in ${object.apiVersion}`);
    }
    const namespace = object.metadata.namespace ?? NAMESPACE;
    const metadata = { ...object.metadata, ...(resource.namespaced && { namespace }) };
    const at = { name: metadata.name, ...(resource.namespaced && { namespace }) };
    const wanted: Draft<KubeObject> = { ...object, metadata };
    await kube.patch(resource, at, wanted, { type: 'apply', fieldManager: FIELD_MANAGER, force: true });
  }
}

/** Only says so: `expect: gone` waits for it. */
async function deleteObjects({ server }: Cluster, what: string): Promise<void> {
  const kube = server.client(server.adminUser);
  if (what === 'all') {
    for (const resource of DELETED) {
      const all = [...server.reader.list(resource)];
      await Promise.all(all.map(({ metadata }) => ifThere(kube.delete(resource, metadata))));
    }
    return;
  }
  const isAtOnce = what.endsWith(AT_ONCE);
  const [kind = '', name = ''] = what.replace(AT_ONCE, '').split('/');
  const { resources } = await kube.servedResources();
  const word = kind.toLowerCase();
  const resource = resources.find(
    (each) =>
      each.plural === word || each.kind.toLowerCase() === word || each.shortNames?.includes(word) === true,
  );
  if (resource === undefined) throw new StepError(`the server has no kind ${kind}`);
  const at = { name, ...(resource.namespaced && { namespace: NAMESPACE }) };
  await kube.delete(resource, at, isAtOnce ? { gracePeriodSeconds: 0 } : {});
}

function changeComponent(
  { faults }: Cluster,
  { do: how, component }: { do: 'kill' | 'stop' | 'start'; component: string },
): void {
  const { lives } = faults;
  if (component === DRIVER) {
    if (how === 'kill' && faults.crashDriver(undefined)) return;
    throw new StepError(
      how === 'kill'
        ? 'the driver was not started by Berth and cannot be killed; let Berth start it with --exec'
        : `the driver cannot be told to ${how}; kill it, and it is started again`,
    );
  }
  const names = [...lives.names(), DRIVER];
  const done =
    how === 'kill'
      ? lives.crash(component)
      : how === 'stop'
        ? lives.hold(component)
        : lives.release(component);
  if (done) return;
  const nearest = nearestOf(component, names);
  throw new StepError(
    names.includes(component)
      ? `${component} ${how === 'start' ? 'was not stopped' : 'does not run'}`
      : `there is no component ${component}; ${nearest === undefined ? `there is ${names.join(', ')}` : `did you mean ${nearest}?`}`,
  );
}
