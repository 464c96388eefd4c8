// A volume populator: fills the volume of a claim with the file that a Hello object describes. Run it with KUBECONFIG set, or in a
// pod under the account of deploy.yaml. In a project of its own the imports are 'berth/api' and 'berth/populator'.

import type { KubeObject } from '../../src/api/index.ts';
import { type PopulatorDefinition, runPopulator } from '../../src/populator/index.ts';

type Hello = KubeObject & { spec: { fileName: string; fileContents: string } };

const MOUNT = '/mnt/volume';
const DEVICE = '/dev/volume';

const hello: PopulatorDefinition<Hello> = {
  prefix: 'hello.example.com',
  namespace: 'hello',
  source: { group: 'hello.example.com', version: 'v1alpha1', kind: 'Hello', plural: 'hellos' },
  populate: {
    image: 'busybox',
    command: ['sh', '-c', 'printf %s "$0" > "$1"'],
    args: ({ spec }, { isBlock }) => [spec.fileContents, isBlock ? DEVICE : `${MOUNT}/${spec.fileName}`],
    mountPath: MOUNT,
    devicePath: DEVICE,
  },
};

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
await runPopulator(hello, { signal: stop.signal });
