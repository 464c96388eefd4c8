// The flags of the official external-provisioner, which are the provisioner's options.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import {
  boolFlag,
  choiceFlag,
  durationFlag,
  floatFlag,
  inGroup,
  intFlag,
  stringFlag,
} from '../../runtime/flags/flag.ts';
import { type FlagValues, parseFlags } from '../../runtime/flags/parse-flags.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { masterFlag, retryFlags } from '../common/common-flags.ts';

export const provisionerFlags = {
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
  ...retryFlags,
  master: masterFlag,
  ...inGroup('Volumes', {
    'volume-name-prefix': stringFlag({ help: 'Prefix of volume names', default: 'pvc', nonEmpty: true }),
    'volume-name-uuid-length': intFlag({
      help: "Characters of the claim's UID in volume names, without dashes; -1: the whole UID, with dashes",
      default: -1,
      min: -1,
      max: 32,
    }),
    'default-fstype': stringFlag({ help: 'File system type of volumes whose class names none', default: '' }),
    'extra-create-metadata': boolFlag({
      help: 'Pass the names of claim and volume to the driver, as parameters under csi.storage.k8s.io/',
    }),
    'controller-publish-readonly': boolFlag({
      help: 'Publish volumes whose only access mode is ReadOnlyMany as read-only',
    }),
    'prevent-volume-mode-conversion': boolFlag({
      help: 'Reject the restore of a snapshot in another volume mode, unless the snapshot content allows it',
      default: true,
    }),
  }),
  ...inGroup('Topology', {
    'strict-topology': boolFlag({ help: 'With a selected node, request only its own segment' }),
    'immediate-topology': boolFlag({
      help: "Without a selected node, request the cluster's segments; off: the driver chooses",
      default: true,
    }),
    'immediate-preference': choiceFlag({
      help:
        "Without a selected node, prefer nothing; spread a StatefulSet's volumes over the segments by name; or rotate " +
        'the segments by any name, as the official provisioner does',
      choices: ['none', 'statefulset', 'hash'],
      default: 'none',
    }),
  }),
  ...inGroup('Published capacity', {
    'enable-capacity': boolFlag({
      help: 'Publish CSIStorageCapacity objects; needs NAMESPACE, and POD_NAME for their owner',
    }),
    'capacity-for-immediate-binding': boolFlag({ help: 'Also for classes with immediate binding' }),
    'capacity-threads': intFlag({ help: 'Objects published concurrently', default: 1, min: 1 }),
    'capacity-poll-interval': durationFlag({
      help: 'Interval of GetCapacity calls',
      default: 60_000,
      min: 1,
    }),
    'capacity-ownerref-level': intFlag({
      help: 'Who owns the objects: 0 the pod, 1 its controller, 2 the controller of that; -1: none',
      default: 1,
      min: -1,
    }),
    'kube-api-capacity-qps': floatFlag({
      help: 'Requests per second to the API server for capacity',
      default: 1,
      min: 0,
    }),
    'kube-api-capacity-burst': intFlag({
      help: 'Burst of requests beyond --kube-api-capacity-qps',
      default: 5,
      min: 0,
    }),
  }),
  ...inGroup('One provisioner per node', {
    'node-deployment': boolFlag({
      help: 'Provision only for the node of this process, named by NODE_NAME; no leader election',
    }),
    'node-deployment-immediate-binding': boolFlag({
      help: 'Also for claims with immediate binding: one node takes each',
      default: true,
    }),
    'node-deployment-base-delay': durationFlag({
      help: 'Longest delay before this node first tries to take a claim',
      default: 20_000,
    }),
    'node-deployment-max-delay': durationFlag({
      help: 'Longest delay between its later attempts',
      default: 60_000,
    }),
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
      help: 'Create volumes from sources in other namespaces, where a ReferenceGrant allows it',
    },
  }),
};

export type ProvisionerFlags = FlagValues<typeof provisionerFlags>;

export const DEFAULT_PROVISIONER_FLAGS = parseFlags({ table: provisionerFlags, argv: [] }).values;
