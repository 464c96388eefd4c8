// The flags of `berth manifests`, and the deployment plan that they describe.

import { type DriverName, driverNameProblem } from '../csi/names/driver-name.ts';
import { PARTS } from '../manifests/driver-objects.ts';
import { ONCE_PER_CLUSTER, type OncePart, type OncePlan } from '../manifests/once-per-cluster.ts';
import { PER_NODE, type Plan } from '../manifests/plan.ts';
import {
  boolFlag,
  choiceFlag,
  flagOf,
  InvalidValue,
  inGroup,
  intFlag,
  mapFlag,
  stringFlag,
  stringsFlag,
} from '../runtime/flags/flag.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import type { Driver } from '../sidecars/common/identify-driver.ts';
import { UsageError } from './command.ts';
import { connectionFlags } from './objects/object-flags.ts';
import { byRequest, sidecarKinds } from './sidecars.ts';

const BESIDE = ['node-registrar', 'livenessprobe'];
const clusterLevel = sidecarKinds.map(({ name }) => name);
const SIDECARS = [...clusterLevel, ...BESIDE];
const CONTAINERS = [
  ...new Set(['driver', 'controller-driver', 'node-driver', 'sidecars', ...SIDECARS, ...ONCE_PER_CLUSTER]),
];

const sidecarNames = stringsFlag({
  help: `Sidecars to run, of ${SIDECARS.join(', ')}. Default: by the driver's capabilities (--from), or all but ${[...byRequest].join(' and ')}`,
});

/** `--arg CONTAINER=ARGUMENT`, once per argument, since arguments may contain commas. */
const argumentFlag = flagOf<readonly (readonly [string, string])[]>(
  {
    type: 'container=argument',
    parse(text, previous = []) {
      const at = text.indexOf('=');
      const container = text.slice(0, Math.max(at, 0));
      if (!CONTAINERS.includes(container)) {
        throw new InvalidValue(
          `"${text}" is not of the form CONTAINER=ARGUMENT with one of ${CONTAINERS.join(', ')}`,
        );
      }
      return [...previous, [container, text.slice(at + 1)]];
    },
    format: (value) => value.map((pair) => pair.join('=')).join(' '),
  },
  {
    help: `An additional argument for a container, as in --arg driver=--verbose or --arg provisioner=--strict-topology. The containers: ${CONTAINERS.join(', ')}`,
    default: [],
  },
);

export const manifestFlags = {
  'driver-name': stringFlag({ help: 'Name of the driver; read from the driver with --from' }),
  from: stringFlag({
    help: 'Socket of the running driver, as in unix:///path. Its name and the sidecars it needs are read from it',
  }),
  image: stringFlag({ help: "The driver's image" }),
  'berth-image': stringFlag({ help: 'Image with `berth` on its PATH (default berth:VERSION)' }),
  arg: argumentFlag,
  sidecars: sidecarNames,
  part: choiceFlag({
    help: `Print only the manifests of this part. ${ONCE_PER_CLUSTER.join(', ')} are needed once per cluster, with their CRDs, and are not part of a driver`,
    choices: ['all', ...PARTS, ...ONCE_PER_CLUSTER],
    default: 'all',
  }),
  format: choiceFlag({
    help: 'Form: manifests on standard output, or a Helm chart or Kustomize base in the directory --output',
    choices: ['yaml', 'helm', 'kustomize'],
    default: 'yaml',
  }),
  output: stringFlag({ help: 'Directory of the chart or base' }),
  diff: boolFlag({
    help: 'Compare with the cluster instead: what is missing, differs or is left over. Exits with 1 if anything is',
  }),
  'replace-official': boolFlag({
    help: 'Read the workloads of --namespace from the cluster instead, and print them with the official sidecars replaced by Berth',
  }),
  ...connectionFlags,
  namespace: stringFlag({ help: 'Namespace of the pods', default: 'kube-system' }),
  'create-namespace': boolFlag({
    help: 'Also create the namespaces, each with the strictest Pod Security level that its pods meet',
  }),
  'network-policy': boolFlag({
    help: 'A NetworkPolicy for each pod, which lets in only what its containers serve',
    default: true,
  }),
  'driver-ports': stringsFlag({
    help: 'Ports on which the driver itself serves, for the NetworkPolicies',
  }),
  'log-level': intFlag({
    help: "Verbosity of Berth's containers: 4 debug, 5 every CSI call",
    default: 0,
    min: 0,
  }),
  secrets: stringFlag({
    help: 'Secrets that the sidecars may read: none, everywhere, or the name of one namespace',
    default: 'none',
  }),
  ...inGroup('Controller', {
    controller: choiceFlag({
      help: 'Workload of the controller: a Deployment, whose sidecars elect a leader; a StatefulSet with one replica; a DaemonSet, whose pods have the driver, the registrar and the sidecars, which elect a leader; or none',
      choices: ['deployment', 'statefulset', 'daemonset', 'none'],
      default: 'deployment',
    }),
    replicas: intFlag({ help: 'Replicas of the controller (1, or 3 with --sharding)', min: 1 }),
    sharding: boolFlag({
      help: 'All replicas work at once, each on its share, instead of one that leads; also with --part snapshot-controller',
    }),
    'node-deployment': boolFlag({
      help: "With --controller=daemonset, for storage that each node has for itself: each node's provisioner and snapshotter act for that node only",
    }),
    separate: boolFlag({ help: 'One container per sidecar instead of one for all' }),
    'group-snapshots': boolFlag({
      help: 'Group snapshots, in the snapshotter; and, with --part snapshot-controller, in the controller, with their CRDs',
    }),
    'snapshot-metadata-tls-secret': stringFlag({
      help: 'Secret with tls.crt, tls.key and ca.crt for the snapshot-metadata sidecar; default: named after its Service, with -tls',
      default: '',
    }),
    'controller-user': intFlag({
      help: "User ID of the controller pod's containers, the driver among them, which then meet Pod Security's level restricted. Default: root, to whom the driver's socket belongs",
      min: 1,
    }),
    'controller-node-selector': mapFlag({ help: 'Node selector of the controller pod' }),
    'controller-host-path': stringsFlag({
      help: "Host directories for the controller pod's driver, mounted at the same path, where the nodes share them or --controller-node-selector chooses one node. The pod then needs Pod Security's level privileged",
    }),
  }),
  ...inGroup('Nodes', {
    'node-namespace': stringFlag({
      help: 'Namespace of the node pods, which are privileged, so that the controller can be in a stricter one; default: --namespace',
    }),
    'kubelet-dir': stringFlag({ help: "The kubelet's directory", default: '/var/lib/kubelet' }),
    'host-path': stringsFlag({
      help: "Further host directories for the node pods' driver, mounted at the same path: /dev, /etc/iscsi, …",
    }),
    'host-network': boolFlag({ help: "Use the host's network, which some storage needs" }),
    'health-port': intFlag({
      help: "Port of the driver's health; the registrar uses the next one. Change it when two drivers use the host's network",
      default: 9808,
      min: 1,
      max: 65_534,
    }),
  }),
  ...inGroup('CSIDriver object', {
    'pod-info': boolFlag({ help: 'Pass pod information to NodePublishVolume (podInfoOnMount)' }),
    'fs-group-policy': choiceFlag({
      help: 'When fsGroup is applied to volumes (fsGroupPolicy)',
      choices: ['ReadWriteOnceWithFSType', 'File', 'None'],
      default: 'ReadWriteOnceWithFSType',
    }),
    'lifecycle-modes': stringsFlag({ help: 'Persistent, Ephemeral or both', default: ['Persistent'] }),
    'requires-republish': boolFlag({ help: 'Call NodePublishVolume periodically (requiresRepublish)' }),
    'token-audiences': stringsFlag({
      help: 'Audiences of the service account tokens that the driver gets (tokenRequests)',
    }),
    'storage-capacity': boolFlag({
      help: 'Publish CSIStorageCapacity objects, and let the scheduler use them',
    }),
    'selinux-mount': boolFlag({ help: 'The driver supports SELinux mount options (seLinuxMount)' }),
  }),
};

export type ManifestValues = FlagValues<typeof manifestFlags>;

/** The sidecars that a deployment of this shape can have. */
export function availableSidecars({
  controller,
  isPerNode,
}: Pick<Plan, 'controller' | 'isPerNode'>): string[] {
  if (controller === 'none') return BESIDE;
  return [...clusterLevel.filter((name) => !isPerNode || PER_NODE.includes(name)), ...BESIDE];
}

const replicasOf = ({ replicas, sharding }: Pick<ManifestValues, 'replicas' | 'sharding'>): number =>
  replicas ?? (sharding ? 3 : 1);

export const isOnce = (part: string): part is OncePart =>
  (ONCE_PER_CLUSTER as readonly string[]).includes(part);

export const oncePlanOf = (values: ManifestValues, part: OncePart, ownImage: string): OncePlan => ({
  part,
  berthImage: values.berthImage ?? ownImage,
  namespace: values.namespace,
  makesNamespace: values.createNamespace,
  logLevel: values.logLevel,
  hasNetworkPolicy: values.networkPolicy,
  replicas: replicasOf(values),
  isSharded: values.sharding,
  arguments: argumentsOf(values, part),
  groupSnapshots: values.groupSnapshots,
});

const argumentsOf = (values: Pick<ManifestValues, 'arg'>, container: string): string[] =>
  values.arg.filter(([name]) => name === container).map(([, argument]) => argument);

export function planOf(values: ManifestValues, driver: Driver | undefined, ownImage: string): Plan {
  const driverName = values.driverName ?? driver?.name;
  if (driverName === undefined)
    throw new UsageError('give --driver-name, or --from with the socket of the running driver');
  if (driver !== undefined && driver.name !== driverName) {
    throw new UsageError(
      `--driver-name is ${driverName}, but the driver at --from reports the name ${driver.name}`,
    );
  }
  const misnamed = driverNameProblem(driverName);
  if (misnamed !== undefined) {
    throw new UsageError(`${JSON.stringify(driverName)} is not a valid driver name: ${misnamed}`);
  }
  if (values.image === undefined) throw new UsageError("--image must be given: the driver's image");
  const strange = values.sidecars.find((name) => !SIDECARS.includes(name));
  if (strange !== undefined)
    throw new UsageError(`there is no sidecar "${strange}", only ${SIDECARS.join(', ')}`);
  const badMode = values.lifecycleModes.find((mode) => mode !== 'Persistent' && mode !== 'Ephemeral');
  if (badMode !== undefined)
    throw new UsageError(`--lifecycle-modes has "${badMode}", which is neither Persistent nor Ephemeral`);
  const badPort = values.driverPorts.find((port) => !/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535);
  if (badPort !== undefined) throw new UsageError(`--driver-ports has "${badPort}", which is not a port`);
  const wanted = values.sidecars.length > 0 ? values.sidecars : usualSidecars(driver, values.nodeDeployment);
  const { secrets } = values;
  return {
    driverName: driverName as DriverName,
    image: values.image,
    berthImage: values.berthImage ?? ownImage,
    namespace: values.namespace,
    nodeNamespace: values.nodeNamespace ?? values.namespace,
    makesNamespace: values.createNamespace,
    secrets: secrets === 'none' || secrets === 'everywhere' ? secrets : { namespace: secrets },
    controller: values.controller,
    replicas: replicasOf(values),
    isSharded: values.sharding,
    sidecars: values.controller === 'none' ? [] : clusterLevel.filter((name) => wanted.includes(name)),
    hasRegistrar: wanted.includes('node-registrar'),
    hasProbe: wanted.includes('livenessprobe'),
    isPerNode: values.nodeDeployment,
    groupSnapshots: values.groupSnapshots,
    metadataTlsSecret: values.snapshotMetadataTlsSecret,
    isSeparate: values.separate,
    arguments: (container) => argumentsOf(values, container),
    logLevel: values.logLevel,
    hasNetworkPolicy: values.networkPolicy,
    driverPorts: values.driverPorts.map(Number),
    controllerUser: values.controllerUser,
    controllerNodeSelector: values.controllerNodeSelector,
    controllerHostPaths: values.controllerHostPath,
    kubeletDir: values.kubeletDir.replace(/(?<=.)\/+$/, ''),
    hostPaths: values.hostPath,
    hostNetwork: values.hostNetwork,
    healthPort: values.healthPort,
    csiDriver: {
      podInfo: values.podInfo,
      fsGroupPolicy: values.fsGroupPolicy,
      lifecycleModes: values.lifecycleModes,
      requiresRepublish: values.requiresRepublish,
      tokenAudiences: values.tokenAudiences,
      storageCapacity: values.storageCapacity,
      seLinuxMount: values.selinuxMount,
    },
  };
}

/** The sidecars to run by default, each with the capability that it needs. */
const WORTH_IT: Readonly<Record<string, (driver: Driver) => boolean>> = {
  provisioner: ({ controller }) => controller.has('CREATE_DELETE_VOLUME'),
  attacher: ({ controller }) => controller.has('PUBLISH_UNPUBLISH_VOLUME'),
};

function usualSidecars(driver: Driver | undefined, isPerNode: boolean): string[] {
  const kinds = sidecarKinds
    .filter(({ name }) => !byRequest.has(name) && (!isPerNode || PER_NODE.includes(name)))
    .filter((kind) => driver === undefined || (WORTH_IT[kind.name] ?? kind.suits)?.(driver) !== false);
  return [...kinds.map(({ name }) => name), ...BESIDE];
}
