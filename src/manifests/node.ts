// The node pod: the driver's node service and the registrar that registers it with the kubelet, and the sidecars where
// they have no pod of their own. It mounts three directories of the host: the plugin registry, the directory of the
// driver's socket, and the kubelet's directory, with bidirectional mount propagation. Pure.

import type { DaemonSetSpec } from 'kubernetes-types/apps/v1.js';
import type { Container, VolumeMount } from 'kubernetes-types/core/v1.js';
import { driverContainer, probeContainer, SOCKET_VOLUME, socketContainer } from './containers.ts';
import { sidecarContainers } from './controller.ts';
import { addedMounts, addedVolumes, hostPathVolume } from './host-paths.ts';
import { controllerName, labelsOf, type Manifest, nodeName, type Plan, pluginDir } from './plan.ts';
import { networkPolicies } from './policies.ts';
import { metadataObjects, metadataVolumes } from './snapshot-metadata.ts';

const REGISTRATION = 'registration-dir';
const REGISTRATION_DIR = '/registration';
const KUBELET = 'kubelet-dir';

export function nodeObjects(plan: Plan): Manifest[] {
  const labels = labelsOf(plan, 'node');
  const hasSidecars = plan.controller === 'daemonset';
  const spec: DaemonSetSpec = {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        ...(hasSidecars
          ? { serviceAccountName: controllerName(plan) }
          : // Nothing in this pod uses the API.
            { serviceAccountName: nodeName(plan), automountServiceAccountToken: false }),
        priorityClassName: 'system-node-critical',
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        // Volumes must be mounted on every node where pods can run.
        tolerations: [{ operator: 'Exists' }],
        ...(plan.hostNetwork && { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }),
        containers: [
          nodeDriver(plan),
          ...(plan.hasRegistrar ? [registrar(plan)] : []),
          ...(hasSidecars ? sidecarContainers(plan) : []),
          ...(plan.hasProbe ? [probeContainer(plan)] : []),
        ],
        volumes: [
          hostPathVolume(SOCKET_VOLUME, pluginDir(plan), 'DirectoryOrCreate'),
          hostPathVolume(KUBELET, plan.kubeletDir, 'Directory'),
          ...(plan.hasRegistrar
            ? [hostPathVolume(REGISTRATION, `${plan.kubeletDir}/plugins_registry`, 'DirectoryOrCreate')]
            : []),
          ...addedVolumes(plan.hostPaths),
          ...(hasSidecars ? metadataVolumes(plan) : []),
        ],
      },
    },
  };
  const metadata = { name: nodeName(plan), namespace: plan.nodeNamespace, labels };
  const set = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec };
  return [
    ...(hasSidecars ? metadataObjects(plan) : []),
    ...(plan.hasNetworkPolicy ? networkPolicies(metadata, spec.template, plan.driverPorts) : []),
    set,
  ];
}

function nodeDriver(plan: Plan): Container {
  const driver = driverContainer(plan, 'node');
  const mounts: VolumeMount[] = [
    { name: KUBELET, mountPath: plan.kubeletDir, mountPropagation: 'Bidirectional' },
    ...addedMounts(plan.hostPaths),
  ];
  return {
    ...driver,
    volumeMounts: [...(driver.volumeMounts ?? []), ...mounts],
    // Bidirectional mount propagation needs a privileged container.
    securityContext: { privileged: true },
  };
}

const registrar = (plan: Plan): Container =>
  socketContainer(plan, {
    name: 'node-registrar',
    command: 'node-registrar',
    arguments: [
      `--plugin-registration-path=${REGISTRATION_DIR}`,
      `--kubelet-registration-path=${pluginDir(plan)}/csi.sock`,
      ...plan.arguments('node-registrar'),
    ],
    port: plan.healthPort + 1,
    healthPath: '/healthz',
    mounts: [{ name: REGISTRATION, mountPath: REGISTRATION_DIR }],
  });
