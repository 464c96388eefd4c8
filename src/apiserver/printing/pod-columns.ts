// The columns of pods: the Status column summarizes phase, init containers, containers and deletion in one word.

import type { Column } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf, stringOf } from '../kinds/loose.ts';
import { ageOf } from './age.ts';
import { ageColumn, column, nameColumn, wide } from './column.ts';

interface Summary {
  reason: string;
  ready: number;
  total: number;
  restarts: number;
  lastRestart: string;
}

function summarize(pod: Loose): Summary {
  const status: LooseMap = mapOf(pod.status) ?? {};
  const conditions = mapsOf(status.conditions);
  const isTrue = (type: string): boolean =>
    conditions.some((each) => each.type === type && each.status === 'True');
  const initContainers = mapsOf(pod.spec?.initContainers);
  const isSidecar = (name: unknown): boolean =>
    initContainers.some((each) => each.name === name && each.restartPolicy === 'Always');
  const summary: Summary = {
    reason: stringOf(status.reason) || stringOf(status.phase),
    ready: 0,
    total: mapsOf(pod.spec?.containers).length + initContainers.filter((each) => isSidecar(each.name)).length,
    restarts: 0,
    lastRestart: '',
  };
  if (conditions.some((each) => each.type === 'PodScheduled' && each.reason === 'SchedulingGated')) {
    summary.reason = 'SchedulingGated';
  }
  const sidecars: Summary = { ...summary, ready: 0 };
  const initializing = summarizeInit(status, initContainers.length, isSidecar, summary, sidecars);
  if (!initializing || isTrue('Initialized')) {
    summary.restarts = sidecars.restarts;
    summary.lastRestart = sidecars.lastRestart;
    summarizeContainers(status, isTrue('Ready'), summary);
  }
  const terminal = status.phase === 'Succeeded' || status.phase === 'Failed';
  if (pod.metadata.deletionTimestamp && status.reason === 'NodeLost') summary.reason = 'Unknown';
  else if (pod.metadata.deletionTimestamp && !terminal) summary.reason = 'Terminating';
  return summary;
}

function countRestarts(container: LooseMap, into: Summary): void {
  into.restarts += Number(container.restartCount ?? 0);
  const finished = stringOf(mapOf(mapOf(container.lastState)?.terminated)?.finishedAt);
  if (finished > into.lastRestart) into.lastRestart = finished;
}

function terminatedReason(terminated: LooseMap): string {
  if (terminated.reason) return stringOf(terminated.reason);
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

/** Whether the pod is still initializing, by its init containers. */
function summarizeInit(
  status: LooseMap,
  total: number,
  isSidecar: (name: unknown) => boolean,
  summary: Summary,
  sidecars: Summary,
): boolean {
  for (const [at, container] of mapsOf(status.initContainerStatuses).entries()) {
    const state: LooseMap = mapOf(container.state) ?? {};
    const terminated = mapOf(state.terminated);
    const waiting = stringOf(mapOf(state.waiting)?.reason);
    countRestarts(container, summary);
    if (isSidecar(container.name)) countRestarts(container, sidecars);
    if (terminated && terminated.exitCode === 0) continue;
    if (isSidecar(container.name) && container.started === true) {
      if (container.ready) summary.ready++;
      continue;
    }
    if (terminated) summary.reason = `Init:${terminatedReason(terminated)}`;
    else if (waiting && waiting !== 'PodInitializing') summary.reason = `Init:${waiting}`;
    else summary.reason = `Init:${at}/${total}`;
    return true;
  }
  return false;
}

function summarizeContainers(status: LooseMap, podReady: boolean, summary: Summary): void {
  let running = false;
  let failed = '';
  for (const container of mapsOf(status.containerStatuses).reverse()) {
    const state: LooseMap = mapOf(container.state) ?? {};
    const terminated = mapOf(state.terminated);
    const waiting = stringOf(mapOf(state.waiting)?.reason);
    countRestarts(container, summary);
    if (waiting) summary.reason = waiting;
    else if (terminated) {
      summary.reason = terminatedReason(terminated);
      if (terminated.exitCode !== 0) failed = summary.reason;
    } else if (container.ready && state.running) {
      running = true;
      summary.ready++;
    }
  }
  if (summary.reason !== 'Completed') return;
  if (running && podReady) summary.reason = 'Running';
  else if (failed) summary.reason = failed;
  else if (running) summary.reason = 'NotReady';
}

function readinessGates(pod: Loose): string {
  const gates = mapsOf(pod.spec?.readinessGates);
  if (gates.length === 0) return '<none>';
  const conditions = mapsOf(pod.status?.conditions);
  const open = gates.filter((gate) =>
    conditions.some((each) => each.type === gate.conditionType && each.status === 'True'),
  );
  return `${open.length}/${gates.length}`;
}

export const podColumns: readonly Column[] = [
  nameColumn,
  column('Ready', (pod) => {
    const { ready, total } = summarize(pod);
    return `${ready}/${total}`;
  }),
  column('Status', (pod) => summarize(pod).reason),
  column('Restarts', (pod, nowMs) => {
    const { restarts, lastRestart } = summarize(pod);
    return restarts !== 0 && lastRestart ? `${restarts} (${ageOf(lastRestart, nowMs)} ago)` : `${restarts}`;
  }),
  ageColumn,
  wide('IP', (pod) => stringOf(mapsOf(pod.status?.podIPs)[0]?.ip) || '<none>'),
  wide('Node', (pod) => pod.spec?.nodeName || '<none>'),
  wide('Nominated Node', (pod) => pod.status?.nominatedNodeName || '<none>'),
  wide('Readiness Gates', readinessGates),
];
