// One node of the cluster: the node agent under the node's own identity, over the real mount table.

import { nodeUser } from '../apiserver/auth/users.ts';
import { diskFiles } from '../csi-plugin/mount/disk-files.ts';
import type { VolumeFiles } from '../csi-plugin/mount/volume-files.ts';
import { createNodeAgent } from '../node/node-agent.ts';
import { hostFacts } from '../node/node-object/host-facts.ts';
import { hostSELinux } from '../node/selinux/host-selinux.ts';
import type { Mounter } from '../runtime/mount/mounter.ts';
import type { Part } from '../runtime/process/supervise.ts';
import { type Life, type PartContext, partPorts, runComponent } from './part-context.ts';
import type { PlannedNode } from './plan-nodes.ts';

export function nodePart(
  context: PartContext,
  node: PlannedNode & { root: string },
  given: {
    mounter: Mounter;
    /** Default: the disk. */
    files?: VolumeFiles;
    version: string;
    replaceTopologyLabels: boolean;
    seLinuxMount?: boolean;
    volumeStatsAggPeriodMs?: number;
  },
): Part {
  const { random } = context;
  const { volumeStatsAggPeriodMs, seLinuxMount = false } = given;
  return {
    name: node.name,
    run: (signal, serving) =>
      runComponent(context, { name: node.name }, signal, (life) => live(life, serving)),
  };
  async function live({ signal, clock, process }: Life, serving: () => void): Promise<void> {
    const ports = partPorts(context, { name: node.name, user: nodeUser(node.name), signal, process });
    const { informers } = ports;
    // A node whose files are not on the disk is not this host.
    const selinux = given.files ? undefined : await hostSELinux();
    const files = given.files ?? diskFiles(node.root, clock);
    const agent = createNodeAgent({
      ...ports,
      recorder: ports.recorderFor('kubelet'),
      mounter: process?.cutRequests(given.mounter) ?? given.mounter,
      ...(selinux && { selinux }),
      files: process?.cutRequests(files) ?? files,
      clock,
      random,
      options: {
        nodeName: node.name,
        rootDir: node.root,
        host: hostFacts(node.name, given.version),
        labels: node.labels,
        replaceTopologyLabels: given.replaceTopologyLabels,
        seLinuxMount,
        ...(volumeStatsAggPeriodMs !== undefined && { volumeStatsAggPeriodMs }),
      },
    });
    informers.start(signal);
    agent.ready.then(serving, () => {});
    await agent.run(signal);
  }
}
