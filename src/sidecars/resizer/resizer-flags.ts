// The flags of the official external-resizer, which are the resizer's options.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag, intFlag } from '../../runtime/flags/flag.ts';
import { type FlagValues, parseFlags } from '../../runtime/flags/parse-flags.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { masterFlag, retryFlags } from '../common/common-flags.ts';

export const resizerFlags = {
  timeout: durationFlag({
    help: 'Time-out of ControllerExpandVolume and ControllerModifyVolume',
    default: 10_000,
    min: 1,
  }),
  workers: intFlag({ help: 'Claims processed concurrently', default: 10, min: 1 }),
  ...retryFlags,
  'resync-period': durationFlag({ help: 'Interval of the full resync', default: 600_000 }),
  'handle-volume-inuse-error': boolFlag({
    help: 'After a driver rejected the expansion of a volume in use, retry only once no pod uses it',
    default: true,
  }),
  'extra-modify-metadata': boolFlag({
    help: 'Pass the names of claim and volume to ControllerModifyVolume',
  }),
  master: masterFlag,
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
};

export type ResizerFlags = FlagValues<typeof resizerFlags>;

export const DEFAULT_RESIZER_FLAGS = parseFlags({ table: resizerFlags, argv: [] }).values;
