// A node agent in a process of its own that kills itself with SIGKILL right before the n-th thing it does to the world:
// a file or directory, an API write, a CSI call. Run by restart.test.ts.

import { connectCsi } from '../../src/csi/client/connect-csi.ts';
import { diskFiles } from '../../src/csi-plugin/mount/disk-files.ts';
import { createNodeAgent } from '../../src/node/node-agent.ts';
import { createEventRecorder } from '../../src/runtime/events/create-event-recorder.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { openLinuxMounter } from '../../src/runtime/mount/linux-mounter.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';

const [kubeconfig = '', rootDir = '', nodeName = '', dieBefore = '0', after = ''] = process.argv.slice(2);
let left = Number(dieBefore);

/** Counts calls of these methods, from before and, with `after`, from after they took effect. */
function dying<T extends object>(port: T, methods: readonly (keyof T & string)[]): T {
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (!methods.includes(name as keyof T & string)) return value.bind(target);
      return async (...args: unknown[]) => {
        if (after === '') step();
        const result: unknown = await value.apply(target, args);
        if (after !== '') step();
        return result;
      };
    },
  });
}

function step(): void {
  if (left > 0 && --left === 0) process.kill(process.pid, 'SIGKILL');
}

const log = silentLog;
const kube = createHttpKubeClient({
  config: await loadKubeConfig({ path: kubeconfig, env: {} }),
  clock: realClock,
  random: realRandom,
  log,
  userAgent: 'crashing-node',
});
const common = {
  clock: realClock,
  random: realRandom,
  log,
  kube: dying(kube, ['create', 'update', 'patch', 'delete']),
};
const informers = createInformers({ ...common, kube });
const agent = createNodeAgent({
  ...common,
  informers,
  mounter: await openLinuxMounter(),
  files: dying(diskFiles(rootDir, realClock), [
    'makeDirectory',
    'removeDirectory',
    'removeEmptyFile',
    'writeRecord',
    'removeRecord',
  ]),
  connect: (address) => dying(connectCsi({ address, log, clock: realClock }), ['call']),
  recorder: createEventRecorder({ ...common, kube, component: 'kubelet' }),
  options: {
    nodeName,
    rootDir,
    host: {
      hostname: nodeName,
      os: 'linux',
      arch: 'amd64',
      kernelVersion: '',
      cpuCount: 1,
      memoryBytes: 1 << 30,
      addresses: [],
      version: 'v0.0.0-test',
    },
  },
});
informers.start(new AbortController().signal);
await agent.run(new AbortController().signal);
