// Exchanges the official sidecars of a namespace for Berth's: the workloads that have some, and the rights that Berth needs
// beyond those that their accounts have. A sidecar is a container, or an init container with restartPolicy Always. Applied again, the workloads as they were bring the official ones back. Pure.

import type { PodTemplateSpec } from 'kubernetes-types/core/v1.js';
import type { KubeObject } from '../../api/object.ts';
import type { Manifest } from '../plan.ts';
import { COMPONENT_ACCOUNTS, type RbacComponent } from '../published-rbac.ts';
import { commandOf, type Replacement, replaceContainer } from './replace-containers.ts';

/** A Deployment, StatefulSet or DaemonSet, as the cluster has it. */
export interface Workload extends KubeObject {
  spec: { template: PodTemplateSpec };
}

export interface ReplacedWorkload {
  manifest: Manifest;
  account: string;
  /** The components of Berth in it that use the API. */
  components: RbacComponent[];
  notes: string[];
}

/** Undefined if it has no official sidecar. */
export function replaceWorkload(
  workload: Workload,
  options: Parameters<typeof replaceContainer>[1],
): ReplacedWorkload | undefined {
  const { kind = '', metadata, spec } = workload;
  const pod = spec.template.spec;
  if (pod === undefined) return undefined;
  const { initContainers, containers } = pod;
  const initial = (initContainers ?? []).map((each) =>
    each.restartPolicy === 'Always' ? replaceContainer(each, options) : { container: each, notes: [] },
  );
  const running = containers.map((container) => replaceContainer(container, options));
  const replaced: Replacement[] = [...initial, ...running];
  const commands = replaced.flatMap(({ command = [] }) => command);
  if (commands.length === 0) return undefined;
  const template = {
    ...spec.template,
    spec: {
      ...pod,
      ...(initContainers && { initContainers: initial.map(({ container }) => container) }),
      containers: running.map(({ container }) => container),
    },
  };
  return {
    manifest: {
      apiVersion: workload.apiVersion,
      kind,
      metadata: printed(metadata),
      spec: { ...spec, template },
    } as Manifest,
    account: pod.serviceAccountName ?? 'default',
    components: commands.filter((command): command is RbacComponent => command in COMPONENT_ACCOUNTS),
    notes: replaced.flatMap((each) =>
      notesOf(each, `${kind} ${metadata.name}, container ${each.container.name}`),
    ),
  };
}

function notesOf({ command, container, notes }: Replacement, where: string): string[] {
  if (command === undefined) {
    const why = commandOf(container.image)
      ? 'is an init container that ends before the others start, no sidecar,'
      : 'is no official sidecar';
    return [`${where}: ${container.image} ${why} and stays`];
  }
  return [`${where}: is berth ${command}`, ...notes.map((note) => `${where}: ${note}`)];
}

/** Written by the server or by kubectl, and not by whoever wrote the manifest. */
const OTHERS = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'deployment.kubernetes.io/revision',
  'deprecated.daemonset.template.generation',
];

function printed({
  name,
  namespace,
  labels,
  annotations = {},
}: KubeObject['metadata']): Manifest['metadata'] {
  const own = Object.fromEntries(Object.entries(annotations).filter(([key]) => !OTHERS.includes(key)));
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(labels && { labels }),
    ...(Object.keys(own).length > 0 && { annotations: own }),
  };
}
