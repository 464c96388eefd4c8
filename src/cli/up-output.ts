// The output of `berth up`: the running parts and how to use them, then a status line.

import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allowsInlineHandles } from '../api/inline-volumes.ts';
import { csiDrivers, storageClasses } from '../api/kinds.ts';
import { ANN_DEFAULT_CLASS } from '../api/well-known.ts';
import { followStatus } from '../cluster/cluster-status.ts';
import type { DataDirectory } from '../cluster/data-directory.ts';
import { kubeletHome } from '../cluster/kubelet/kubelet-plan.ts';
import type { RealNodeOptions } from '../cluster/kubelet/real-node.ts';
import { clusterControllers } from '../cluster/parts.ts';
import type { PlannedNode } from '../cluster/plan-nodes.ts';
import type { Cluster } from '../cluster/start-cluster.ts';
import type { Dashboard } from '../dashboard/serve-dashboard.ts';
import { realClock } from '../runtime/time/clock.ts';
import type { CommandOutput } from './command.ts';

const EXAMPLES = relative(process.cwd(), fileURLToPath(new URL('../../examples', import.meta.url)));

export function welcome(up: {
  /** The parts that `--without` accepts, beside single nodes. */
  parts: readonly string[];
  cluster: Cluster;
  page: Dashboard | undefined;
  nodes: readonly PlannedNode[];
  kubelet: RealNodeOptions | undefined;
  kubeconfig: string;
  tookMs: number;
  without: readonly string[];
  directory: DataDirectory;
  rootless: boolean;
}): string {
  const { parts, cluster, page, nodes, kubelet, kubeconfig, tookMs, without, directory, rootless } = up;
  const classes = [...cluster.server.reader.list(storageClasses)].map(
    ({ metadata: { name, annotations } }) =>
      annotations?.[ANN_DEFAULT_CLASS] === 'true' ? `${name} (default)` : name,
  );
  const open = [...cluster.server.reader.list(csiDrivers)]
    .filter(allowsInlineHandles)
    .map(({ metadata }) => metadata.name);
  const running = parts.filter((name) => !without.includes(name));
  const rows: [string, string][] = [
    ['took', `${(tookMs / 1000).toFixed(2)} s`],
    ['runs', runningText(running)],
    ['nodes', nodes.map(({ name }) => name).join(', ')],
    ...(kubelet ? [containersRow(kubelet, directory)] : []),
    ...driverRows(cluster, nodes),
    ...(open.length > 0
      ? [
          ['inline', `pods may name any volume of ${open.join(', ')} by its handle`] satisfies [
            string,
            string,
          ],
        ]
      : []),
    ['classes', classes.toSorted().join(', ') || 'none'],
    ...(page ? [['page', page.url] satisfies [string, string]] : []),
    ...(rootless
      ? [
          [
            'rootless',
            `mounts are in its namespace: nsenter --user --mount --preserve-credentials --target ${process.pid}`,
          ] satisfies [string, string],
        ]
      : []),
    ['data', directory.isEphemeral ? 'removed when it stops' : directory.path],
    ...without
      .map((part): [string, string] => [
        'left out',
        `${part}: its kubeconfig is ${directory.partKubeconfig(part)}`,
      ])
      .filter(([, text]) => existsSync(text.slice(text.lastIndexOf(' ') + 1))),
  ];
  return [
    ...rows.map(([name, text]) => `  ${name.padEnd(9)}${text}`),
    '',
    'In another terminal:',
    `  export KUBECONFIG=${kubeconfig}`,
    ...commented([
      [`kubectl apply -f ${EXAMPLES}/claim-and-pod.yaml`, 'or npx berth apply -f …'],
      ['kubectl get pods,pvc,volumeattachments', 'or npx berth get …'],
      ['npx berth trace pod web', 'what happened, step by step'],
      ['npx berth why', 'what is not well, and what to do'],
    ]),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

/** The controllers are counted: `--without` names them. */
export function runningText(running: readonly string[]): string {
  const names = new Set(clusterControllers.map(({ name }) => name));
  const controllers = running.filter((name) => names.has(name)).length;
  const others = running.filter((name) => !names.has(name));
  return ['apiserver', ...(controllers > 0 ? [`${controllers} controllers`] : []), ...others].join(', ');
}

/** Comments one below the other. */
export function commented(rows: readonly (readonly [command: string, comment: string])[]): string[] {
  const width = Math.max(...rows.map(([text]) => text.length));
  return rows.map(([text, comment]) => `  ${text.padEnd(width)}  # ${comment}`);
}

/** One row for each driver, with the nodes that it is on. */
function driverRows({ drivers }: Cluster, nodes: readonly PlannedNode[]): [string, string][] {
  if (drivers.length === 0) return [['drivers', 'none']];
  return drivers.map(({ name, nodeSockets }, index) => {
    const on = nodes.map((node) => node.name).filter((node) => nodeSockets.has(node));
    const missing = on.length < nodes.length ? '; choose one of them in pods that use it' : '';
    return [index === 0 ? 'drivers' : '', `${name} on ${on.join(', ')}${missing}`];
  });
}

function containersRow({ nodeName, programs }: RealNodeOptions, directory: DataDirectory): [string, string] {
  const { kubeletVersion, containerdVersion } = programs;
  const { path, containerdSocket } = kubeletHome(directory.path);
  return [
    'kubelet',
    `${nodeName} runs containers, by kubelet ${kubeletVersion} and containerd ${containerdVersion} (${containerdSocket}); logs are in ${path}`,
  ];
}

/** A status line that is redrawn on a terminal; elsewhere a line at intervals. */
export function showStatus(cluster: Cluster, stdout: CommandOutput): () => void {
  const { reader } = cluster.server;
  const onTerminal = stdout.isTTY;
  const unfollow = followStatus({
    reader,
    clock: realClock,
    everyMs: onTerminal ? 200 : 10_000,
    show: (status) => (onTerminal ? stdout.redraw(status) : stdout.write(`${status}\n`)),
  });
  return () => {
    unfollow();
    if (onTerminal) stdout.redraw('');
  };
}
