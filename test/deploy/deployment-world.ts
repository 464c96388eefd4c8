// A cluster in which printed manifests are played: the embedded API server, controllers, scheduler and nodes as
// processes, and pods as play-pods.ts has them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Draft, KubeObject, Resource } from '../../src/api/object.ts';
import type { ApiServer } from '../../src/apiserver/api-server.ts';
import { issueKubeconfig, writeKubeconfig } from '../../src/apiserver/auth/kubeconfig.ts';
import { nodeUser } from '../../src/apiserver/auth/users.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { resourceOfManifest } from '../../src/cli/objects/find-resource.ts';
import { unmountBelow } from '../../src/cluster/unmount-below.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import type { Informers } from '../../src/runtime/informer/informer.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { openLinuxMounter } from '../../src/runtime/mount/linux-mounter.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { berth, processes } from '../interop/processes.ts';
import { type Settled, settledIn } from '../interop/settled.ts';
import { type Pod, startPod } from './play-pods.ts';
import type { Printed } from './print-manifests.ts';

export const NODES = ['node-a', 'node-b'];

export class DeploymentWorld {
  readonly directory: string;
  readonly stateDir: string;
  readonly kube: KubeClient;
  readonly until: Settled;
  readonly #server: ApiServer;
  readonly #informers: Informers;
  readonly #machines = processes();
  readonly #pods = new Set<Pod>();
  readonly #stop = new AbortController();
  #started = 0;

  constructor(server: ApiServer, directory: string) {
    this.#server = server;
    this.directory = directory;
    this.stateDir = join(directory, 'state');
    this.kube = server.client(server.adminUser);
    this.#informers = createInformers({
      clock: realClock,
      random: realRandom,
      log: silentLog,
      kube: this.kube,
    });
    this.until = settledIn(this.#informers, { signal: this.#stop.signal, output: () => this.output() });
  }

  static async start(t: TestContext): Promise<DeploymentWorld> {
    // Short: sockets are in it.
    const directory = await mkdtemp(join(tmpdir(), 'dp-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const kubeconfigPath = join(directory, 'kubeconfig');
    const admission = { nodeLabelPrefixes: ['deploy.test/'] };
    const server = await testServer(t, { listen: true, kubeconfigPath, admission });
    const world = new DeploymentWorld(server, directory);
    t.after(() => world.#end());
    await mkdir(world.stateDir);
    world.#informers.start(world.#stop.signal);
    for (const command of ['controller-manager', 'scheduler']) {
      world.#machines.start(berth(command), [`--kubeconfig=${kubeconfigPath}`, '--leader-elect=false']);
    }
    for (const node of NODES) await world.#startNode(node);
    return world;
  }

  async #startNode(name: string): Promise<void> {
    const server = this.#server;
    const path = join(this.directory, `${name}.kubeconfig`);
    const user = nodeUser(name);
    await writeKubeconfig(path, issueKubeconfig({ server: server.url ?? '', pki: server.pki, user }));
    const node = this.#machines.start(berth('node'), [
      `--kubeconfig=${path}`,
      `--hostname-override=${name}`,
      `--root-dir=${join(this.directory, name, 'kubelet')}`,
    ]);
    const [line] = await once(node.stdout as NodeJS.ReadableStream, 'data');
    assert.equal(String(line), `ready ${name}\n`);
  }

  /** As `kubectl apply` with strict checking would. */
  async apply(manifests: readonly Printed[]): Promise<void> {
    const { resources } = await this.#server.client(this.#server.adminUser).servedResources();
    for (const draft of manifests) {
      const { apiVersion = '', kind, metadata } = draft;
      const resource = resourceOfManifest(resources, { apiVersion, kind });
      assert(resource, `${apiVersion} ${kind} is not served`);
      const { name = '', namespace } = metadata;
      const options = { fieldValidation: 'Strict' as const };
      const there = await this.kube
        .get(resource, { name, ...(namespace && { namespace }) })
        .catch(() => undefined);
      if (there === undefined) await this.kube.create(resource, draft, options);
      else {
        const { resourceVersion } = there.metadata;
        await this.kube.update(
          resource,
          { ...draft, metadata: { ...metadata, resourceVersion } } as never,
          options,
        );
      }
    }
  }

  /** The pods of the DaemonSet, one a node, or of what keeps the controller. */
  async startPods(manifests: readonly Printed[], part: 'node' | 'controller'): Promise<Pod[]> {
    const kinds = part === 'node' ? ['DaemonSet'] : ['Deployment', 'StatefulSet'];
    const owner = manifests.find(({ kind }) => kinds.includes(kind));
    assert(owner, `no ${kinds.join(' or ')}`);
    const names = part === 'node' ? NODES : Array.from({ length: owner.spec.replicas }, () => NODES[0] ?? '');
    const pods = await Promise.all(
      names.map((node) => {
        this.#started += 1;
        return startPod(this.#server, this.directory, {
          name: `p${this.#started}`,
          namespace: owner.metadata.namespace ?? '',
          node,
          hostDir: join(this.directory, node),
          template: owner.spec.template,
        });
      }),
    );
    for (const pod of pods) this.#pods.add(pod);
    return pods;
  }

  async stopPods(pods: readonly Pod[]): Promise<void> {
    for (const pod of pods) {
      this.#pods.delete(pod);
      await pod.stop();
    }
  }

  create<T extends KubeObject>(resource: Resource<T>, draft: object): Promise<T> {
    return this.kube.create(resource, draft as Draft<T>);
  }

  output(): string {
    return [...this.#pods].map((pod) => pod.output()).join('\n') + this.#machines.output();
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await this.stopPods([...this.#pods]);
    await this.#machines.stop();
    // What a test that failed half-way has left.
    const mounter = await openLinuxMounter();
    await unmountBelow(this.directory, { mounter, keep: new Set(), except: '' });
  }
}
