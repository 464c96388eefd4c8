// The two API servers that a deployment is tried on, without anything that would run it: each start gives a kubeconfig.

import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { missingPeers } from '../capabilities.ts';
import { temporaryDirectory } from '../e2e/up-process.ts';
import { startKubeApiserver } from '../interop/kube-apiserver.ts';

export interface TriedServer {
  name: string;
  /** Why it cannot be started here; false when it can. */
  missing: string | false;
  /** Until the test ends. */
  start(t: TestContext): Promise<string>;
}

export const apiServers: readonly TriedServer[] = [
  {
    name: 'the embedded API server',
    missing: false,
    async start(t) {
      const kubeconfig = join(await temporaryDirectory(t), 'kubeconfig');
      await testServer(t, { listen: true, kubeconfigPath: kubeconfig });
      return kubeconfig;
    },
  },
  {
    name: 'a real kube-apiserver',
    missing: missingPeers('etcd', 'kube-apiserver'),
    async start(t) {
      const server = await startKubeApiserver(await temporaryDirectory(t));
      t.after(() => server.stop());
      return server.kubeconfig;
    },
  },
];
