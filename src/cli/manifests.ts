// `berth manifests`: prints the manifests that run a CSI driver in a cluster, for `kubectl apply -f -`.

import { stringify } from 'yaml';
import { askBroughtDriver } from '../cluster/brought-driver.ts';
import { type DriverName, driverNameProblem } from '../csi/names/driver-name.ts';
import { socketPath } from '../csi/names/socket-path.ts';
import { accessObjects, csiDriverObjects } from '../manifests/access.ts';
import { commandLineProblem } from '../manifests/check-command-lines.ts';
import { controllerObjects } from '../manifests/controller.ts';
import { nodeObjects } from '../manifests/node.ts';
import { ONCE_PER_CLUSTER, type OncePart, onceObjects } from '../manifests/once-per-cluster.ts';
import { type Manifest, PER_NODE, type Plan, problemOf } from '../manifests/plan.ts';
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
import { realClock } from '../runtime/time/clock.ts';
import type { Driver } from '../sidecars/common/identify-driver.ts';
import { defineCommand, type Output, standardFlags, UsageError } from './command.ts';
import { commands } from './commands.ts';
import { byRequest, sidecarKinds } from './sidecars.ts';
import { packageVersion } from './version.ts';

/** In the order of installation: nodes before the controller, since the provisioner reads their topology. */
const PARTS = ['access', 'csidriver', 'node', 'controller'] as const;
type Part = (typeof PARTS)[number];
const WITHOUT_ARGUMENTS =
  'berth manifests: warning: the driver gets no arguments, only CSI_ENDPOINT and NODE_ID in its environment; if it reads ' +
  "neither, give its arguments, as in --arg 'driver=--endpoint=$(CSI_ENDPOINT)' --arg 'driver=--nodeid=$(NODE_ID)'\n";

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

const flags = {
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
  namespace: stringFlag({ help: 'Namespace of the pods', default: 'kube-system' }),
  'create-namespace': boolFlag({
    help: 'Also create the namespace, with a pod security level that allows privileged pods',
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
    replicas: intFlag({ help: 'Replicas of the controller', default: 1, min: 1 }),
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
    'controller-node-selector': mapFlag({ help: 'Node selector of the controller pod' }),
  }),
  ...inGroup('Nodes', {
    'kubelet-dir': stringFlag({ help: "The kubelet's directory", default: '/var/lib/kubelet' }),
    'host-path': stringsFlag({
      help: 'Further host directories for the driver, mounted at the same path: /dev, /etc/iscsi, …',
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

export const command = defineCommand({
  summary: 'Prints manifests that run a CSI driver in a cluster',
  description:
    'Accounts and roles, the CSIDriver object, a DaemonSet for the nodes and a Deployment or StatefulSet for the ' +
    'controller, in the order in which to apply them. The driver gets its socket in CSI_ENDPOINT and its node name in ' +
    'NODE_ID; arguments may use them as $(CSI_ENDPOINT) and $(NODE_ID). ' +
    'Example: `berth manifests --from unix:///tmp/csi.sock --image registry/driver:1.0 | kubectl apply -f -`.',
  flags,
  async run({ flags: values, signal, stdout, stderr }) {
    const ownImage = `berth:${await packageVersion()}`;
    if (isOnce(values.part)) {
      const once = await onceObjects({
        part: values.part,
        berthImage: values.berthImage ?? ownImage,
        namespace: values.namespace,
        replicas: values.replicas,
        arguments: argumentsOf(values, values.part),
        groupSnapshots: values.groupSnapshots,
      });
      await print(once, once, stdout);
      return;
    }
    const driver =
      values.from === undefined
        ? undefined
        : await askBroughtDriver(socketPath(values.from), { clock: realClock, signal });
    const plan = planOf(values, driver, ownImage);
    const problem = problemOf(plan);
    if (problem !== undefined) throw new UsageError(problem);
    const manifests: Record<Part, Manifest[]> = {
      access: await accessObjects(plan),
      csidriver: csiDriverObjects(plan),
      node: nodeObjects(plan),
      controller: controllerObjects(plan),
    };
    const chosen = values.part === 'all' ? PARTS : [values.part];
    const all = Object.values(manifests).flat();
    await print(
      all,
      chosen.flatMap((part) => manifests[part]),
      stdout,
    );
    if (!values.arg.some(([name]) => name.endsWith('driver'))) stderr.write(WITHOUT_ARGUMENTS);
  },
});

const isOnce = (part: string): part is OncePart => (ONCE_PER_CLUSTER as readonly string[]).includes(part);

/** Throws if a container would reject its command line. */
async function print(all: readonly Manifest[], chosen: readonly Manifest[], stdout: Output): Promise<void> {
  const wrong = await commandLineProblem(all, async (name) => {
    const row = commands[name];
    return row && { ...(await row.load()).command.flags, ...standardFlags };
  });
  if (wrong !== undefined) throw new UsageError(wrong);
  stdout.write(chosen.map(documentOf).join('---\n'));
}

const argumentsOf = (values: Pick<FlagValues<typeof flags>, 'arg'>, container: string): string[] =>
  values.arg.filter(([name]) => name === container).map(([, argument]) => argument);

const documentOf = (manifest: Manifest): string =>
  stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false });

function planOf(values: FlagValues<typeof flags>, driver: Driver | undefined, ownImage: string): Plan {
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
  const wanted = values.sidecars.length > 0 ? values.sidecars : usualSidecars(driver, values.nodeDeployment);
  const { secrets } = values;
  return {
    driverName: driverName as DriverName,
    image: values.image,
    berthImage: values.berthImage ?? ownImage,
    namespace: values.namespace,
    makesNamespace: values.createNamespace,
    secrets: secrets === 'none' || secrets === 'everywhere' ? secrets : { namespace: secrets },
    controller: values.controller,
    replicas: values.replicas,
    sidecars: values.controller === 'none' ? [] : clusterLevel.filter((name) => wanted.includes(name)),
    hasRegistrar: wanted.includes('node-registrar'),
    hasProbe: wanted.includes('livenessprobe'),
    isPerNode: values.nodeDeployment,
    groupSnapshots: values.groupSnapshots,
    metadataTlsSecret: values.snapshotMetadataTlsSecret,
    isSeparate: values.separate,
    arguments: (container) => argumentsOf(values, container),
    controllerNodeSelector: values.controllerNodeSelector,
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
