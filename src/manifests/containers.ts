// The containers of Berth's components: each runs one command, uses the shared driver socket, serves its health, and
// has no privileges on the host. Pure.

import type { Container, ContainerPort, EnvVar, VolumeMount } from 'kubernetes-types/core/v1.js';
import { type Plan, SOCKET, SOCKET_DIR } from './plan.ts';

export const SOCKET_VOLUME = 'socket-dir';
const socketMount: VolumeMount = { name: SOCKET_VOLUME, mountPath: SOCKET_DIR };

const fromField = (name: string, fieldPath: string): EnvVar => ({
  name,
  valueFrom: { fieldRef: { fieldPath } },
});

/** The environment variables for a driver's endpoint and node name, for drivers without arguments. */
const driverEnvironment: EnvVar[] = [
  { name: 'CSI_ENDPOINT', value: `unix://${SOCKET}` },
  fromField('NODE_ID', 'spec.nodeName'),
];

/** The environment variables by which the provisioner finds the owner of its CSIStorageCapacity objects. */
export const podEnvironment: EnvVar[] = [
  fromField('POD_NAME', 'metadata.name'),
  fromField('NAMESPACE', 'metadata.namespace'),
];

/** The environment variable by which a sidecar knows the node that it acts for. */
export const nodeEnvironment: EnvVar = fromField('NODE_NAME', 'spec.nodeName');

export interface BerthContainer {
  name: string;
  command: string;
  arguments: readonly string[];
  port: number;
  healthPath: string;
  mounts?: readonly VolumeMount[];
  /** Beside that of its health. */
  ports?: readonly ContainerPort[];
  environment?: readonly EnvVar[];
  memory: string;
}

/** A program that connects to no driver: it runs as the user of Berth's image, who is not root. */
export function berthContainer(plan: Pick<Plan, 'berthImage'>, container: BerthContainer): Container {
  const { name, port, mounts = [], ports = [], environment } = container;
  return {
    name,
    image: plan.berthImage,
    command: ['berth', container.command],
    args: [`--http-endpoint=:${port}`, ...container.arguments],
    ...(environment && { env: [...environment] }),
    ports: [{ name: portName(port), containerPort: port }, ...ports],
    livenessProbe: {
      httpGet: { path: container.healthPath, port: portName(port) },
      initialDelaySeconds: 10,
      periodSeconds: 20,
      timeoutSeconds: 5,
    },
    ...(mounts.length > 0 && { volumeMounts: [...mounts] }),
    resources: { requests: { cpu: '10m', memory: container.memory } },
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65_532,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
}

/** A program beside the driver. The driver's socket belongs to root, so it runs as root, without capabilities. */
export function socketContainer(plan: Pick<Plan, 'berthImage'>, container: BerthContainer): Container {
  const { securityContext, ...made } = berthContainer(plan, {
    ...container,
    arguments: [`--csi-address=${SOCKET}`, ...container.arguments],
    mounts: [socketMount, ...(container.mounts ?? [])],
  });
  const { runAsNonRoot: _, ...rights } = securityContext ?? {};
  return { ...made, securityContext: { ...rights, runAsUser: 0 } };
}

/** Answers the liveness probe of the driver's container. */
export function probeContainer(plan: Plan): Container {
  const { livenessProbe, ...container } = socketContainer(plan, {
    name: 'liveness-probe',
    command: 'livenessprobe',
    arguments: plan.arguments('livenessprobe'),
    port: plan.healthPort,
    healthPath: '/healthz',
    memory: '64Mi',
  });
  return container;
}

export function driverContainer(plan: Plan, pod: 'controller' | 'node'): Container {
  return {
    name: 'driver',
    image: plan.image,
    args: [...plan.arguments('driver'), ...plan.arguments(`${pod}-driver`)],
    env: driverEnvironment,
    // The kubelet restarts a driver that no longer answers; the liveness-probe container serves /healthz.
    ...(plan.hasProbe && {
      livenessProbe: {
        // By number: a name is looked up in the driver's own container.
        httpGet: { path: '/healthz', port: plan.healthPort },
        initialDelaySeconds: 10,
        periodSeconds: 10,
        timeoutSeconds: 5,
        failureThreshold: 5,
      },
    }),
    volumeMounts: [socketMount],
  };
}

const portName = (port: number): string => `http-${port}`;
