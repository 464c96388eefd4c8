// The containers of Berth's components: each runs one command, uses the shared driver socket, serves its health, and
// has no privileges on the host. Pure.

import type {
  Container,
  ContainerPort,
  EnvVar,
  SecurityContext,
  VolumeMount,
} from 'kubernetes-types/core/v1.js';
import { type Plan, SOCKET, SOCKET_DIR } from './plan.ts';
import { requestsOf } from './requests.ts';

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
}

/** The user of Berth's image, who is not root. */
const OWN_USER = 65_532;

/** What Pod Security's level `restricted` requires, if the user is not root. */
export const rightsOf = (user: number): SecurityContext => ({
  ...(user !== 0 && { runAsNonRoot: true }),
  runAsUser: user,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
});

/** A program that connects to no driver, so that it can run as any user. */
export function berthContainer(
  plan: Pick<Plan, 'berthImage' | 'logLevel'>,
  container: BerthContainer,
  user = OWN_USER,
): Container {
  const { name, port, mounts = [], ports = [], environment } = container;
  const health = { httpGet: { path: container.healthPath, port: portName(port) }, timeoutSeconds: 5 };
  return {
    name,
    image: plan.berthImage,
    command: ['berth', container.command],
    args: [
      `--http-endpoint=:${port}`,
      ...(plan.logLevel > 0 ? [`--v=${plan.logLevel}`] : []),
      ...container.arguments,
    ],
    ...(environment && { env: [...environment] }),
    ports: [{ name: portName(port), containerPort: port }, ...ports],
    livenessProbe: { ...health, initialDelaySeconds: 10, periodSeconds: 20 },
    readinessProbe: { ...health, periodSeconds: 10 },
    ...(mounts.length > 0 && { volumeMounts: [...mounts] }),
    resources: requestsOf(container.command),
    securityContext: { ...rightsOf(user), readOnlyRootFilesystem: true },
  };
}

/** A program beside the driver, as the user to whom the driver's socket belongs. As root it has no capabilities. */
export const socketContainer = (
  plan: Pick<Plan, 'berthImage' | 'logLevel'>,
  container: BerthContainer,
  user = 0,
): Container =>
  berthContainer(
    plan,
    {
      ...container,
      arguments: [`--csi-address=${SOCKET}`, ...container.arguments],
      mounts: [socketMount, ...(container.mounts ?? [])],
    },
    user,
  );

/** Answers the liveness probe of the driver's container. */
export function probeContainer(plan: Plan, user?: number): Container {
  // Its /healthz is about the driver, not about itself.
  const { livenessProbe, readinessProbe, ...container } = socketContainer(
    plan,
    {
      name: 'liveness-probe',
      command: 'livenessprobe',
      arguments: plan.arguments('livenessprobe'),
      port: plan.healthPort,
      healthPath: '/healthz',
    },
    user,
  );
  return container;
}

export function driverContainer(plan: Plan, pod: 'controller' | 'node'): Container {
  // By number: a name is looked up in the driver's own container.
  const health = { httpGet: { path: '/healthz', port: plan.healthPort }, timeoutSeconds: 5 };
  return {
    name: 'driver',
    image: plan.image,
    args: [...plan.arguments('driver'), ...plan.arguments(`${pod}-driver`)],
    env: driverEnvironment,
    // The liveness-probe container serves /healthz: the pod is ready when the driver answers, and the kubelet restarts a
    // driver that no longer does.
    ...(plan.hasProbe && {
      livenessProbe: { ...health, initialDelaySeconds: 10, periodSeconds: 10, failureThreshold: 5 },
      readinessProbe: { ...health, periodSeconds: 10 },
    }),
    volumeMounts: [socketMount],
  };
}

const portName = (port: number): string => `http-${port}`;
