// `berth resizer` as a sidecar: the official external-resizer's flags, lease and feature gates.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag, intFlag, stringFlag } from '../../runtime/flags/flag.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { createResizer } from './resizer.ts';

export const resizerSidecar = defineSidecar({
  name: 'resizer',
  flags: {
    timeout: durationFlag({
      help: 'Time-out of ControllerExpandVolume and ControllerModifyVolume',
      default: 10_000,
      min: 1,
    }),
    workers: intFlag({ help: 'Claims processed concurrently', default: 10, min: 1 }),
    'retry-interval-start': durationFlag({
      help: 'Initial retry interval; doubles with each failure',
      default: 1_000,
      min: 1,
    }),
    'retry-interval-max': durationFlag({
      help: 'Longest backoff, also used after infeasible requests',
      default: 300_000,
      min: 1,
    }),
    'resync-period': durationFlag({ help: 'Interval of the full resync', default: 600_000 }),
    'handle-volume-inuse-error': boolFlag({
      help: 'After a driver rejected the expansion of a volume in use, retry only once no pod uses it',
      default: true,
    }),
    'extra-modify-metadata': boolFlag({
      help: 'Pass the names of claim and volume to ControllerModifyVolume',
    }),
    master: stringFlag({
      help: 'Address of the API server',
      default: '',
      ignored: 'the kubeconfig says where the API server is',
    }),
    'feature-gates': featureGatesFlag({
      ...releaseOnExitGate,
      AnnotateFsResize: {
        default: false,
        stage: 'alpha',
        help: "Record the claim's previous capacity on the volume until its filesystem is expanded",
      },
      RecoverVolumeExpansionFailure: {
        default: true,
        stage: 'stable',
        help: 'Allow lowering a request that cannot be met',
      },
      VolumeAttributesClass: {
        default: true,
        stage: 'stable',
        help: 'Apply the VolumeAttributesClass of claims to their volumes',
      },
    }),
  },
  leaseName: (driver) => `external-resizer-${driver}`,
  eventSource: (driver) => `external-resizer ${driver}`,
  // A driver that expands on the node alone reports that among the plugin's capabilities.
  suits: ({ controller, plugin }) =>
    controller.has('EXPAND_VOLUME') || controller.has('MODIFY_VOLUME') || plugin.volumeExpansion.size > 0,
  create: (ports, flags) =>
    createResizer(ports, {
      timeoutMs: flags.timeoutMs,
      workers: flags.workers,
      retryStartMs: flags.retryIntervalStartMs,
      retryMaxMs: flags.retryIntervalMaxMs,
      resyncMs: flags.resyncPeriodMs,
      mindsUse: flags.handleVolumeInuseError,
      modifies: flags.featureGates.VolumeAttributesClass,
      extraModifyMetadata: flags.extraModifyMetadata,
      recovers: flags.featureGates.RecoverVolumeExpansionFailure,
      annotates: flags.featureGates.AnnotateFsResize,
    }),
});
