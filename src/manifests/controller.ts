// The controller pod, one per cluster: the driver's controller service and the sidecars that use the API, with a shared
// socket in an emptyDir. A StatefulSet, or a Deployment whose sidecars elect a leader. Pure.

import type { StatefulSetSpec } from 'kubernetes-types/apps/v1.js';
import type { Container, PodTemplateSpec } from 'kubernetes-types/core/v1.js';
import {
  type BerthContainer,
  driverContainer,
  nodeEnvironment,
  podEnvironment,
  probeContainer,
  rightsOf,
  SOCKET_VOLUME,
  socketContainer,
} from './containers.ts';
import { addedMounts, addedVolumes } from './host-paths.ts';
import {
  controllerName,
  electsLeader,
  GROUPS_GATE,
  labelsOf,
  type Manifest,
  PER_NODE,
  type Plan,
  SHARDING,
} from './plan.ts';
import { disruptionBudgets, networkPolicies } from './policies.ts';
import { RBAC_COMPONENTS, type RbacComponent } from './published-rbac.ts';
import {
  metadataArguments,
  metadataMount,
  metadataObjects,
  metadataPort,
  metadataVolumes,
} from './snapshot-metadata.ts';

/** The first port for metrics and health. In a container of its own, each sidecar has the same port in every deployment. */
const FIRST_PORT = 8080;
const ownPort = (sidecar: string): number => FIRST_PORT + RBAC_COMPONENTS.indexOf(sidecar as RbacComponent);

export function controllerObjects(plan: Plan): Manifest[] {
  if (plan.controller === 'none' || plan.controller === 'daemonset') return [];
  const labels = labelsOf(plan, 'controller');
  const metadata = { name: controllerName(plan), namespace: plan.namespace, labels };
  const template = podTemplate(plan);
  const spec = { replicas: plan.replicas, selector: { matchLabels: labels }, template };
  const beside = [
    ...metadataObjects(plan),
    ...disruptionBudgets({ metadata, replicas: plan.replicas }),
    ...(plan.hasNetworkPolicy ? networkPolicies(metadata, template, plan.driverPorts) : []),
  ];
  if (plan.controller === 'deployment')
    return [...beside, { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec }];
  // No pod is looked up by DNS name, so the Service need not exist.
  const setSpec: StatefulSetSpec = { ...spec, serviceName: metadata.name };
  return [...beside, { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec: setSpec }];
}

function podTemplate(plan: Plan): PodTemplateSpec {
  const labels = labelsOf(plan, 'controller');
  return {
    metadata: { labels },
    spec: {
      serviceAccountName: controllerName(plan),
      priorityClassName: 'system-cluster-critical',
      nodeSelector: { 'kubernetes.io/os': 'linux', ...plan.controllerNodeSelector },
      tolerations: ['control-plane', 'master'].map((role) => ({
        key: `node-role.kubernetes.io/${role}`,
        operator: 'Exists',
        effect: 'NoSchedule',
      })),
      ...(plan.replicas > 1 && {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: labels },
          },
        ],
      }),
      containers: [
        controllerDriver(plan),
        ...sidecarContainers(plan, plan.controllerUser),
        ...(plan.hasProbe ? [probeContainer(plan, plan.controllerUser)] : []),
      ],
      volumes: [
        { name: SOCKET_VOLUME, emptyDir: {} },
        ...addedVolumes(plan.controllerHostPaths),
        ...metadataVolumes(plan),
      ],
    },
  };
}

function controllerDriver(plan: Plan): Container {
  const driver = driverContainer(plan, 'controller');
  return {
    ...driver,
    volumeMounts: [...(driver.volumeMounts ?? []), ...addedMounts(plan.controllerHostPaths)],
    ...(plan.controllerUser !== undefined && { securityContext: rightsOf(plan.controllerUser) }),
  };
}

/** `user`: of the driver's socket; root unless given. */
export const sidecarContainers = (plan: Plan, user?: number): Container[] =>
  (plan.isSeparate ? eachSidecar(plan) : allSidecars(plan)).map((container) =>
    socketContainer(plan, container, user),
  );

function eachSidecar(plan: Plan): BerthContainer[] {
  return plan.sidecars.map((name) => ({
    ...common(plan, ownPort(name)),
    name,
    command: name,
    arguments: [
      ...election(plan, SHARDING.includes(name)),
      ...ownArguments(plan, name),
      ...ownNodeOnly(plan, name),
      ...plan.arguments(name),
    ],
    ...(name === METADATA && metadataParts),
  }));
}

function allSidecars(plan: Plan): BerthContainer[] {
  if (plan.sidecars.length === 0) return [];
  return [
    {
      ...common(plan, FIRST_PORT),
      name: 'sidecars',
      command: 'sidecars',
      arguments: [
        `--controllers=${plan.sidecars.join(',')}`,
        ...election(plan),
        ...capacity(plan),
        ...plan.arguments('sidecars'),
        ...plan.sidecars.flatMap((name) =>
          [
            ...(name === 'provisioner' ? [] : ownArguments(plan, name)),
            ...ownNodeOnly(plan, name),
            ...plan.arguments(name),
          ].map((argument) => addressed(name, argument)),
        ),
      ],
      ...(plan.sidecars.includes(METADATA) && metadataParts),
    },
  ];
}

function common(plan: Plan, port: number): Pick<BerthContainer, 'port' | 'healthPath' | 'environment'> {
  return {
    port,
    healthPath: electsLeader(plan) ? '/healthz/leader-election' : '/healthz',
    environment: plan.isPerNode ? [...podEnvironment, nodeEnvironment] : podEnvironment,
  };
}

const ownNodeOnly = ({ isPerNode }: Plan, name: string): string[] =>
  isPerNode && PER_NODE.includes(name) ? ['--node-deployment'] : [];

/** `shards`: the container can divide its objects among replicas. */
function election(plan: Plan, shards = true): string[] {
  if (!electsLeader(plan)) return [];
  return plan.isSharded && shards ? ['--sharding'] : ['--leader-election'];
}

const METADATA = 'snapshot-metadata';
const metadataParts = { mounts: [metadataMount], ports: [metadataPort] };

/** What the plan says about one sidecar. */
function ownArguments(plan: Plan, name: string): string[] {
  if (name === 'provisioner') return capacity(plan);
  if (name === 'snapshotter') return plan.groupSnapshots ? [GROUPS_GATE] : [];
  return name === METADATA ? metadataArguments(plan) : [];
}

function capacity(plan: Plan): string[] {
  if (!plan.csiDriver.storageCapacity) return [];
  // Owner levels above the pod: StatefulSet or DaemonSet, or ReplicaSet and Deployment.
  return ['--enable-capacity', `--capacity-ownerref-level=${plan.controller === 'deployment' ? 2 : 1}`];
}

/** `--strict-topology` of the provisioner is `--provisioner-strict-topology` where sidecars share a command line. */
const addressed = (sidecar: string, argument: string): string =>
  argument.replace(/^--?(?=[^-])/, `--${sidecar}-`);
