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
    workers: intFlag({ help: 'Claims worked on at once', default: 10, min: 1 }),
    'retry-interval-start': durationFlag({
      help: 'Pause after the first failure; it doubles with each',
      default: 1_000,
      min: 1,
    }),
    'retry-interval-max': durationFlag({
      help: 'Longest pause after a failure, and the pause after one that will not go away by itself',
      default: 300_000,
      min: 1,
    }),
    'resync-period': durationFlag({ help: 'Look at everything again at this interval', default: 600_000 }),
    'handle-volume-inuse-error': boolFlag({
      help: 'Ask a driver that refused to expand a volume in use again only once no pod uses it',
      default: true,
    }),
    'extra-modify-metadata': boolFlag({
      help: 'Tell the driver the names of claim and volume when it modifies one',
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
        help: "Note on a volume what its claim's capacity was until its filesystem has followed",
      },
      RecoverVolumeExpansionFailure: {
        default: true,
        stage: 'stable',
        help: 'Let a request that cannot be met be lowered again',
      },
      VolumeAttributesClass: {
        default: true,
        stage: 'stable',
        help: 'Give volumes the parameters of the VolumeAttributesClass that their claim names',
      },
    }),
  },
  leaseName: (driver) => `external-resizer-${driver}`,
  eventSource: (driver) => `external-resizer ${driver}`,
  // Who grows volumes on the node alone says so among the plugin's capabilities.
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
