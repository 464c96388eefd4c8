// Builds the capacity publisher for the three kinds of drivers: with topology (one object per segment), without (one
// for the cluster), and with one provisioner per node (the node's own segment only).

import { createHash } from 'node:crypto';
import type { Segment } from '../../../api/topology.ts';
import type { BackoffPolicy } from '../../../runtime/time/backoff.ts';
import type { SidecarPorts } from '../../common/sidecar.ts';
import type { CapacityOptions } from '../provisioner-options.ts';
import type { TopologyIndex } from '../topology/topology-index.ts';
import type { CapacityOwner } from './capacity-object.ts';
import { createCapacityPublisher, fixedSegments, type Segments } from './capacity-publisher.ts';
import { findOwner } from './find-owner.ts';

export interface StartCapacityOptions {
  ports: SidecarPorts;
  options: CapacityOptions;
  timeoutMs: number;
  backoff: BackoffPolicy;
  topology: TopologyIndex | undefined;
  /** With one provisioner per node. */
  nodeName: string | undefined;
}

export function startCapacity({ ports, options, nodeName, topology, ...rest }: StartCapacityOptions) {
  const { kube, clock, random, log, metrics, driver, csi, informers } = ports;
  const owner: CapacityOwner = {
    driver: driver.name,
    managedBy: nodeName === undefined ? 'external-provisioner' : managedByNode(nodeName),
    namespace: options.namespace,
    reference: undefined,
  };
  const local = nodeName === undefined ? undefined : laterSegment();
  const segments: Segments =
    local ??
    (topology
      ? {
          list: () => topology.ownSegments(),
          has: (segment) => topology.hasOwnSegment(segment),
          onChange: (listener) => topology.onOwnSegment(listener),
        }
      : fixedSegments([{}]));
  const publisher = createCapacityPublisher({
    kube,
    informers,
    csi,
    clock,
    metrics,
    timeoutMs: rest.timeoutMs,
    owner,
    segments,
    pollIntervalMs: options.pollIntervalMs,
    forImmediateBinding: options.forImmediateBinding,
    loop: { clock, random, log, metrics, backoff: rest.backoff, workers: options.workers },
  });
  return {
    changed: publisher.changed,
    /** `here`: the segment of this node, with one provisioner per node. */
    async run(here: Segment | undefined, signal: AbortSignal): Promise<void> {
      if (options.owner) {
        const { podName, levels } = options.owner;
        owner.reference = await findOwner(
          kube,
          { name: podName, namespace: options.namespace },
          levels,
          signal,
        );
      }
      local?.set(here ?? {});
      await publisher.run(signal);
    },
  };
}

/** The official provisioner's label for this, shortened in a similar way when the node's name is long. */
function managedByNode(nodeName: string): string {
  const name = `external-provisioner-${nodeName}`;
  if (name.length <= 63) return name;
  const hash = createHash('sha256').update(nodeName).digest('hex').slice(0, 8);
  return `${name.slice(0, 54).replace(/[^a-zA-Z0-9]+$/, '')}-${hash}`;
}

/** One segment, which is unknown until the driver has answered. */
function laterSegment(): Segments & { set(segment: Segment): void } {
  let known: Segments = fixedSegments([]);
  const listeners: ((segment: Segment) => void)[] = [];
  return {
    list: () => known.list(),
    has: (segment) => known.has(segment),
    onChange: (listener) => void listeners.push(listener),
    set(segment) {
      known = fixedSegments([segment]);
      for (const listener of listeners) listener(segment);
    },
  };
}
