// What the snapshot metadata sidecar needs beside its container: its certificate from a Secret, and a Service by which backup
// programs reach it. Pure.

import type { ContainerPort, Volume, VolumeMount } from 'kubernetes-types/core/v1.js';
import { baseName, labelsOf, type Manifest, type Plan } from './plan.ts';

const PORT = 50051;
const VOLUME = 'snapshot-metadata-tls';
const DIRECTORY = '/tls';

export const serviceName = (plan: Plan): string => `${baseName(plan)}-snapshot-metadata`;

const hasIt = (plan: Plan): boolean => plan.sidecars.includes('snapshot-metadata');

/** The sidecar keeps the SnapshotMetadataService object with the address of the Service. */
export const metadataArguments = (plan: Plan): string[] => [
  `--tls-cert=${DIRECTORY}/tls.crt`,
  `--tls-key=${DIRECTORY}/tls.key`,
  `--tls-ca=${DIRECTORY}/ca.crt`,
  `--port=${PORT}`,
  `--service-address=${serviceName(plan)}.${plan.namespace}.svc:${PORT}`,
];

export const metadataPort: ContainerPort = { name: 'metadata', containerPort: PORT };
export const metadataMount: VolumeMount = { name: VOLUME, mountPath: DIRECTORY, readOnly: true };

export const metadataVolumes = (plan: Plan): Volume[] =>
  hasIt(plan)
    ? [{ name: VOLUME, secret: { secretName: plan.metadataTlsSecret || `${serviceName(plan)}-tls` } }]
    : [];

export function metadataObjects(plan: Plan): Manifest[] {
  if (!hasIt(plan)) return [];
  const labels = labelsOf(plan, plan.controller === 'daemonset' ? 'node' : 'controller');
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: serviceName(plan), namespace: plan.namespace, labels },
      spec: {
        selector: labels,
        ports: [{ name: metadataPort.name, port: PORT, targetPort: metadataPort.name }],
      },
    },
  ];
}
