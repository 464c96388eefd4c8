// The flags of the official external-attacher, which are the attacher's options.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { durationFlag, intFlag, stringFlag } from '../../runtime/flags/flag.ts';
import { type FlagValues, parseFlags } from '../../runtime/flags/parse-flags.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { retryFlags } from '../common/common-flags.ts';

export const attacherFlags = {
  timeout: durationFlag({
    help: 'Time-out of ControllerPublishVolume and ControllerUnpublishVolume',
    default: 15_000,
    min: 1,
  }),
  'worker-threads': intFlag({ help: 'Volumes attached and detached at once', default: 10, min: 1 }),
  'max-entries': intFlag({ help: 'Volumes a page of ListVolumes; 0: no limit', default: 0, min: 0 }),
  ...retryFlags,
  resync: durationFlag({ help: 'Interval of the full resync', default: 600_000 }),
  'reconcile-sync': durationFlag({
    help: 'Compare attachments with ListVolumes at this interval',
    default: 60_000,
  }),
  'default-fstype': stringFlag({
    help: 'File system type told to the driver where the volume names none',
    default: '',
  }),
  'max-grpc-log-length': intFlag({
    help: 'Longest log line of a CSI message, in characters; -1: no limit',
    default: -1,
  }),
  'feature-gates': featureGatesFlag({
    ...releaseOnExitGate,
    MutableCSINodeAllocatableCount: {
      default: true,
      stage: 'stable',
      help: "Put the driver's error code into status.attachError.errorCode",
    },
  }),
};

export type AttacherFlags = FlagValues<typeof attacherFlags>;

export const DEFAULT_ATTACHER_FLAGS = parseFlags({ table: attacherFlags, argv: [] }).values;
