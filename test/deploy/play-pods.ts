// Plays a cluster for manifests: what a DaemonSet controller, a Deployment controller and a kubelet's container runtime
// would do with a pod template, with processes for containers. `berth` in an image is this source tree; a mount is a
// path that is replaced in the command line; a pod's address is one of the loopback network's, so that each pod has all
// ports for itself; its account's token is the one the API server gives.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container, EnvVar, PodTemplateSpec } from 'kubernetes-types/core/v1.js';
import { serviceAccounts } from '../../src/api/kinds.ts';
import type { ApiServer } from '../../src/apiserver/api-server.ts';
import { kubeconfigFor } from '../../src/apiserver/auth/kubeconfig.ts';
import { berth, type Processes, processes } from '../interop/processes.ts';

export interface Pod {
  /** Asks every health endpoint that a container's probe names, until all have answered well. */
  untilHealthy(): Promise<void>;
  output(): string;
  stop(): Promise<void>;
}

export interface PodOptions {
  name: string;
  namespace: string;
  node: string;
  /** Where the directories of the node's machine are. */
  hostDir: string;
  template: PodTemplateSpec;
}

const SECOND_MS = 1_000;
let pods = 0;

export async function startPod(server: ApiServer, directory: string, options: PodOptions): Promise<Pod> {
  const { name, namespace, node, hostDir, template } = options;
  const {
    containers,
    volumes = [],
    serviceAccountName = 'default',
    automountServiceAccountToken,
  } = template.spec ?? {
    containers: [],
  };
  pods += 1;
  const address = `127.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}.${pods}`;
  const podDir = join(directory, name);
  const places = new Map<string, string>();
  for (const { name: volume, hostPath, emptyDir } of volumes) {
    assert(hostPath || emptyDir, `volume ${volume} is of a kind that is not played here`);
    const place = hostPath ? join(hostDir, hostPath.path) : join(podDir, volume);
    await mkdir(place, { recursive: true });
    places.set(volume, place);
  }
  const env: Record<string, string> = { KUBECONFIG: join(podDir, 'no-account') };
  if (automountServiceAccountToken !== false) {
    env.KUBECONFIG = await accountKubeconfig(server, podDir, { name: serviceAccountName, namespace });
  }
  const facts = { 'spec.nodeName': node, 'metadata.name': name, 'metadata.namespace': namespace };
  const running = processes();
  for (const container of containers) {
    startContainer(running, container, { env, facts, address, pathOf: pathsOf(container, places, hostDir) });
  }
  return {
    untilHealthy: async () => {
      for (const url of containers.flatMap((container) => healthUrls(container, containers, address))) {
        await untilWell(url, running);
      }
    },
    output: () => running.output(),
    stop: () => running.stop('SIGTERM'),
  };
}

interface Surroundings {
  env: Record<string, string>;
  facts: Record<string, string>;
  address: string;
  pathOf: (text: string) => string;
}

function startContainer(running: Processes, container: Container, around: Surroundings): void {
  const { facts, address, pathOf } = around;
  const env = { ...around.env };
  for (const variable of container.env ?? []) env[variable.name] = valueOfVariable(variable, facts);
  const expanded = (container.args ?? [])
    .map((argument) => argument.replaceAll(/\$\((\w+)\)/g, (whole, variable) => env[variable] ?? whole))
    .map((argument) => argument.replace(/^(--http-endpoint=)(?=:)/, `$1${address}`))
    .map(pathOf);
  for (const name of Object.keys(env)) env[name] = pathOf(env[name] as string);
  // An image without a command has `berth` as its entry point.
  const [program, ...first] = container.command ?? ['berth'];
  assert.equal(program, 'berth', `container ${container.name} runs what is not played here`);
  const [command = '', ...rest] = [...first, ...expanded];
  running.start(berth(command), rest, env);
}

function valueOfVariable({ name, value, valueFrom }: EnvVar, facts: Record<string, string>): string {
  const field = valueFrom?.fieldRef?.fieldPath;
  const found = field === undefined ? value : facts[field];
  assert(found !== undefined, `variable ${name} comes from where is not played here`);
  return found;
}

/** A container's paths as this machine's. Paths of the kubelet mean the host's, whoever says them. */
function pathsOf(container: Container, places: ReadonlyMap<string, string>, hostDir: string) {
  const mounts = (container.volumeMounts ?? []).map(
    ({ name, mountPath }) => [mountPath, places.get(name) ?? ''] as const,
  );
  const known = [...mounts, ['/kubelet', join(hostDir, 'kubelet')] as const];
  return (text: string): string => {
    for (const [path, place] of known) {
      const at = text.search(new RegExp(`(?<=^|=|//)${path}(?=/|$)`));
      if (at >= 0) return `${text.slice(0, at)}${place}${text.slice(at + path.length)}`;
    }
    return text;
  };
}

/** As a kubelet finds the port: by number in the pod, by name in the container alone. */
function healthUrls(container: Container, containers: readonly Container[], address: string): string[] {
  const asked = container.livenessProbe?.httpGet;
  if (asked === undefined) return [];
  const isNamed = typeof asked.port === 'string';
  const ports = (isNamed ? [container] : containers).flatMap((each) => each.ports ?? []);
  const port = ports.find((each) => (isNamed ? each.name : each.containerPort) === asked.port)?.containerPort;
  assert(port, `container ${container.name} is probed at a port that nobody has: ${asked.port}`);
  return [`http://${address}:${port}${asked.path}`];
}

async function untilWell(url: string, running: Processes): Promise<void> {
  const limit = performance.now() + 30 * SECOND_MS;
  let last: unknown;
  while (performance.now() < limit) {
    const answer = await fetch(url).catch((error: unknown) => {
      last = error;
    });
    const text = await answer?.text();
    if (answer?.ok) return;
    if (answer) last = `${answer.status} ${text}`;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${url} did not answer well, at last: ${last}\n${running.output()}`);
}

async function accountKubeconfig(
  server: ApiServer,
  directory: string,
  account: { name: string; namespace: string },
): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await server
    .client(server.adminUser)
    .createSubresource<{ status: { token: string } }>(serviceAccounts, account, 'token', body);
  const path = join(directory, 'kubeconfig');
  const config = kubeconfigFor({
    server: server.url ?? '',
    caPem: server.pki.caPem,
    user: { name: account.name, token: status.token },
    namespace: account.namespace,
  });
  await mkdir(directory, { recursive: true });
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
