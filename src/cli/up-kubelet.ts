// The flags of `berth up` for a real node, and the choices that they make.

import { existsSync } from 'node:fs';
import { findKubeletPrograms } from '../cluster/kubelet/kubelet-programs.ts';
import type { RealNodeOptions } from '../cluster/kubelet/real-node.ts';
import { type PlannedNode, planNodes } from '../cluster/plan-nodes.ts';
import { flagOf, stringFlag, stringsFlag } from '../runtime/flags/flag.ts';
import { type Environment, UsageError } from './command.ts';

/** Of the real node. */
const NODE_NAME = 'kubelet-1';
const SANDBOX_IMAGE = 'registry.k8s.io/pause:3.10';

export const kubeletFlags = {
  kubelet: flagOf<string | false>(
    {
      type: 'path',
      isBoolean: true,
      parse: (text) => (text === 'true' ? '' : text === 'false' ? false : text),
      format: (value) => (value === false ? 'false' : value || 'true'),
    },
    {
      help:
        `Run real containers: start the kubelet at this path, or the installed one, and the installed containerd, as the node ` +
        `${NODE_NAME}. Without --nodes there are no simulated nodes then`,
      default: false,
    },
  ),
  'kubelet-images': stringsFlag({
    help: 'Archives of container images (as `docker save` writes them) to import before the kubelet starts; may be repeated',
    default: [],
  }),
  'sandbox-image': stringFlag({
    help: "Image of the process that holds a pod's namespaces, with --kubelet",
    default: SANDBOX_IMAGE,
  }),
};

interface Given {
  readonly flags: {
    kubelet: string | false;
    kubeletImages: readonly string[];
    sandboxImage: string;
    nodes: number;
  };
  readonly given: ReadonlySet<string>;
  readonly env: Environment;
}

/** The nodes of the cluster, the real one last, and how to start that. */
export async function nodesAndKubelet({
  flags,
  given,
  env,
}: Given): Promise<{ nodes: PlannedNode[]; kubelet?: RealNodeOptions }> {
  const { kubelet, kubeletImages: images, sandboxImage } = flags;
  if (kubelet === false) {
    const stray = ['kubelet-images', 'sandbox-image'].find((name) => given.has(name));
    if (stray !== undefined) throw new UsageError(`--${stray} needs --kubelet`);
    return { nodes: planNodes(flags.nodes) };
  }
  const missing = images.find((path) => !existsSync(path));
  if (missing !== undefined) throw new UsageError(`--kubelet-images: there is no file ${missing}`);
  const programs = await findKubeletPrograms(kubelet || undefined, env);
  const simulated = given.has('nodes') ? flags.nodes : 0;
  const nodes = planNodes(simulated + 1);
  const last = nodes.pop() as PlannedNode;
  const { 'kubernetes.io/hostname': _hostname, ...labels } = last.labels;
  const real: PlannedNode = { ...last, name: NODE_NAME, labels };
  return { nodes: [...nodes, real], kubelet: { nodeName: NODE_NAME, programs, sandboxImage, images } };
}
