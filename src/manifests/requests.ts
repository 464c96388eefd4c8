// The memory and processor time that containers request: measured with `npm run measure-requests`, which runs each as a
// process of its own from compiled code. Memory is the peak under load, rounded up to the next 8 MiB; processor time is
// what each uses while idle, since bursts may take what is free. docs/deploying.md has the figures.

import type { ResourceRequirements } from 'kubernetes-types/core/v1.js';

const MEMORY = {
  sidecars: '96Mi',
  provisioner: '80Mi',
  attacher: '80Mi',
  resizer: '80Mi',
  snapshotter: '80Mi',
  'health-monitor': '72Mi',
  // Not measured: it needs a certificate and a client that streams.
  'snapshot-metadata': '96Mi',
  'cluster-registrar': '72Mi',
  'snapshot-controller': '88Mi',
  'data-source-validator': '72Mi',
  'node-registrar': '64Mi',
  livenessprobe: '64Mi',
} as const;

export type RequestingCommand = keyof typeof MEMORY;

export const requestsOf = (command: string): ResourceRequirements => ({
  requests: { cpu: '10m', memory: MEMORY[command as RequestingCommand] },
});
