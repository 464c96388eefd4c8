// `berth provisioner` as a sidecar: the official external-provisioner's flags, lease and feature gates.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import {
  boolFlag,
  choiceFlag,
  durationFlag,
  flagOf,
  floatFlag,
  InvalidValue,
  intFlag,
  stringFlag,
} from '../../runtime/flags/flag.ts';
import type { FlagValues } from '../../runtime/flags/parse-flags.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar, type ProcessPorts } from '../common/sidecar.ts';
import { createProvisioner } from './provisioner.ts';
import type { ProvisionerOptions } from './provisioner-options.ts';

const names = 'Volumes';
const topology = 'Topology';
const capacity = 'Published capacity';
const perNode = 'One provisioner per node';

const flags = {
  timeout: durationFlag({ help: 'Time-out of each call to the driver', default: 10_000, min: 1 }),
  'worker-threads': intFlag({ help: 'Volumes created and deleted concurrently', default: 100, min: 1 }),
  'cloning-protection-threads': intFlag({
    help: 'Sources of clones processed concurrently',
    default: 1,
    min: 1,
  }),
  'snapshot-orphan-sweep-interval': durationFlag({
    help: 'Interval of the sweep for snapshots with a leftover source finalizer; 0: never',
    default: 300_000,
  }),
  'retry-interval-start': durationFlag({
    help: 'Initial retry interval; doubles with each failure',
    default: 1_000,
    min: 1,
  }),
  'retry-interval-max': durationFlag({ help: 'Maximum retry interval', default: 300_000, min: 1 }),
  master: stringFlag({
    help: 'Address of the API server',
    default: '',
    ignored: 'the kubeconfig says where the API server is',
  }),
  'volume-name-prefix': flagOf<string>(
    {
      type: 'string',
      parse: (text) => {
        if (text === '') throw new InvalidValue('must not be empty');
        return text;
      },
      format: (value) => value,
    },
    { help: 'Prefix of volume names', default: 'pvc', group: names },
  ),
  'volume-name-uuid-length': intFlag({
    help: "Characters of the claim's UID in volume names, without dashes; -1: the whole UID, with dashes",
    default: -1,
    min: -1,
    max: 32,
    group: names,
  }),
  'default-fstype': stringFlag({
    help: 'File system type of volumes whose class names none',
    default: '',
    group: names,
  }),
  'extra-create-metadata': boolFlag({
    help: 'Pass the names of claim and volume to the driver, as parameters under csi.storage.k8s.io/',
    group: names,
  }),
  'controller-publish-readonly': boolFlag({
    help: 'Publish volumes whose only access mode is ReadOnlyMany as read-only',
    group: names,
  }),
  'prevent-volume-mode-conversion': boolFlag({
    help: 'Reject the restore of a snapshot in another volume mode, unless the snapshot content allows it',
    default: true,
    group: names,
  }),
  'strict-topology': boolFlag({
    help: 'With a selected node, request only its own segment',
    group: topology,
  }),
  'immediate-topology': boolFlag({
    help: "Without a selected node, request the cluster's segments; off: the driver chooses",
    default: true,
    group: topology,
  }),
  'immediate-preference': choiceFlag({
    help:
      "Without a selected node, prefer nothing; spread a StatefulSet's volumes over the segments by name; or rotate " +
      'the segments by any name, as the official provisioner does',
    choices: ['none', 'statefulset', 'hash'],
    default: 'none',
    group: topology,
  }),
  'enable-capacity': boolFlag({
    help: 'Publish CSIStorageCapacity objects; needs NAMESPACE, and POD_NAME for their owner',
    group: capacity,
  }),
  'capacity-for-immediate-binding': boolFlag({
    help: 'Also for classes with immediate binding',
    group: capacity,
  }),
  'capacity-threads': intFlag({
    help: 'Objects published concurrently',
    default: 1,
    min: 1,
    group: capacity,
  }),
  'capacity-poll-interval': durationFlag({
    help: 'Interval of GetCapacity calls',
    default: 60_000,
    min: 1,
    group: capacity,
  }),
  'capacity-ownerref-level': intFlag({
    help: 'Who owns the objects: 0 the pod, 1 its controller, 2 the controller of that; -1: none',
    default: 1,
    min: -1,
    group: capacity,
  }),
  'kube-api-capacity-qps': floatFlag({
    help: 'Requests per second to the API server for capacity',
    default: 1,
    min: 0,
    group: capacity,
  }),
  'kube-api-capacity-burst': intFlag({
    help: 'Burst of requests beyond --kube-api-capacity-qps',
    default: 5,
    min: 0,
    group: capacity,
  }),
  'node-deployment': boolFlag({
    help: 'Provision only for the node of this process, named by NODE_NAME; no leader election',
    group: perNode,
  }),
  'node-deployment-immediate-binding': boolFlag({
    help: 'Also for claims with immediate binding: one node takes each',
    default: true,
    group: perNode,
  }),
  'node-deployment-base-delay': durationFlag({
    help: 'Longest delay before this node first tries to take a claim',
    default: 20_000,
    group: perNode,
  }),
  'node-deployment-max-delay': durationFlag({
    help: 'Longest delay between its later attempts',
    default: 60_000,
    group: perNode,
  }),
  'feature-gates': featureGatesFlag({
    ...releaseOnExitGate,
    Topology: { default: true, stage: 'stable', help: 'Request and record the topology of volumes' },
    VolumeAttributesClass: {
      default: true,
      stage: 'stable',
      help: 'Pass the parameters of a VolumeAttributesClass to the driver',
    },
    CrossNamespaceVolumeDataSource: {
      default: false,
      stage: 'alpha',
      locked: true,
      help: 'Create volumes from sources in other namespaces',
    },
  }),
};

export const provisionerSidecar = defineSidecar({
  name: 'provisioner',
  flags,
  leaseName: (driver) => driver,
  eventSource: (driver, identity) => `${driver}_${identity}`,
  needsLease: (values) => !values.nodeDeployment,
  create: (ports, values) =>
    createProvisioner(
      {
        ...ports,
        ...(values.enableCapacity && {
          capacityKube: ports.kubeWith({
            qps: values.kubeApiCapacityQps,
            burst: values.kubeApiCapacityBurst,
          }),
        }),
      },
      provisionerOptions(values, ports),
    ),
});

type Environment = ProcessPorts['env'];

/** The flags as options; throws when the environment lacks what they need. */
export function provisionerOptions(
  values: FlagValues<typeof flags>,
  { env, namespace }: Pick<ProcessPorts, 'env' | 'namespace'>,
): ProvisionerOptions {
  return {
    namespace,
    timeoutMs: values.timeoutMs,
    workers: values.workerThreads,
    retryStartMs: values.retryIntervalStartMs,
    retryMaxMs: values.retryIntervalMaxMs,
    cloningProtectionWorkers: values.cloningProtectionThreads,
    snapshotSweepIntervalMs: values.snapshotOrphanSweepIntervalMs,
    volumeNamePrefix: values.volumeNamePrefix,
    volumeNameUuidLength: values.volumeNameUuidLength,
    defaultFsType: values.defaultFstype,
    extraCreateMetadata: values.extraCreateMetadata,
    controllerPublishReadOnly: values.controllerPublishReadonly,
    preventVolumeModeConversion: values.preventVolumeModeConversion,
    volumeAttributesClasses: values.featureGates.VolumeAttributesClass,
    topology: values.featureGates.Topology,
    strictTopology: values.strictTopology,
    immediateTopology: values.immediateTopology,
    immediatePreference: values.immediatePreference,
    ...(values.enableCapacity && { capacity: capacityOptions(values, env) }),
    ...(values.nodeDeployment && {
      nodeDeployment: {
        nodeName: required(env, 'NODE_NAME', '--node-deployment'),
        immediateBinding: values.nodeDeploymentImmediateBinding,
        baseDelayMs: values.nodeDeploymentBaseDelayMs,
        maxDelayMs: values.nodeDeploymentMaxDelayMs,
      },
    }),
  };
}

function capacityOptions(values: FlagValues<typeof flags>, env: Environment) {
  const levels = values.capacityOwnerrefLevel;
  return {
    workers: values.capacityThreads,
    pollIntervalMs: values.capacityPollIntervalMs,
    forImmediateBinding: values.capacityForImmediateBinding,
    namespace: required(env, 'NAMESPACE', '--enable-capacity'),
    ...(levels >= 0 && {
      owner: { levels, podName: required(env, 'POD_NAME', '--capacity-ownerref-level') },
    }),
  };
}

function required(env: Environment, name: string, flag: string): string {
  const value = env[name];
  if (!value) throw new Error(`${flag} needs the environment variable ${name}`);
  return value;
}
