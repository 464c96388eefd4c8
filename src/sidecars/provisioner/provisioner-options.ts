// The options of a provisioner: the flags of `berth provisioner` as one object.

import type { TopologyQuestion } from './topology/topology-requirement.ts';

export interface ProvisionerOptions {
  /** Of each call to the driver. */
  timeoutMs: number;
  workers: number;
  retryStartMs: number;
  retryMaxMs: number;
  cloningProtectionWorkers: number;
  snapshotSweepIntervalMs: number;
  volumeNamePrefix: string;
  /** -1: the whole UID. */
  volumeNameUuidLength: number;
  defaultFsType: string;
  extraCreateMetadata: boolean;
  controllerPublishReadOnly: boolean;
  preventVolumeModeConversion: boolean;
  volumeAttributesClasses: boolean;
  /** Off: the driver is treated as one without topology. */
  topology: boolean;
  strictTopology: boolean;
  immediateTopology: boolean;
  immediatePreference: TopologyQuestion['preferImmediate'];
  capacity?: CapacityOptions;
  nodeDeployment?: NodeDeploymentOptions;
  /** The namespace of the Lease of its intents. */
  namespace: string;
}

export interface CapacityOptions {
  workers: number;
  pollIntervalMs: number;
  forImmediateBinding: boolean;
  namespace: string;
  /** The pod whose controller, this many levels up, owns the objects; without it they have no owner. */
  owner?: { podName: string; levels: number };
}

export interface NodeDeploymentOptions {
  nodeName: string;
  immediateBinding: boolean;
  baseDelayMs: number;
  maxDelayMs: number;
}

export const DEFAULT_PROVISIONER_OPTIONS: ProvisionerOptions = {
  timeoutMs: 10_000,
  workers: 100,
  retryStartMs: 1_000,
  retryMaxMs: 300_000,
  cloningProtectionWorkers: 1,
  snapshotSweepIntervalMs: 300_000,
  volumeNamePrefix: 'pvc',
  volumeNameUuidLength: -1,
  defaultFsType: '',
  extraCreateMetadata: false,
  controllerPublishReadOnly: false,
  preventVolumeModeConversion: true,
  volumeAttributesClasses: true,
  topology: true,
  strictTopology: false,
  immediateTopology: true,
  immediatePreference: 'none',
  namespace: 'kube-system',
};
