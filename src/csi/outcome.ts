// The one error taxonomy: what a failed call means for the state of the volume. Every gRPC code, per operation, with
// the reason beside it. Everything that asks "may it still be going on?" asks here. Pure.

import { type GrpcCode, grpcCodeOf } from '../wire/grpc/grpc-code.ts';
import { CsiError } from './csi-error.ts';
import type {
  Controller,
  GroupController,
  Identity,
  Node,
  SnapshotMetadata,
} from './generated/csi/v1/csi_pb.ts';

/**
 * - `final`: it is over and was not done; nothing of it is going on. Trying again starts afresh.
 * - `infeasible`: final, and the same request will not succeed later either: wait for somebody to change it.
 * - `maybe-in-progress`: it may be going on or even be done. The same request must be repeated until it is certain.
 * - `reschedule`: final here; it may succeed on another node.
 */
export type CallOutcome = 'final' | 'infeasible' | 'maybe-in-progress' | 'reschedule';

export interface Verdict {
  readonly outcome: CallOutcome;
  /**
   * The driver refused the request itself. The specification wants OK for a request that was carried out before, so a
   * refused Create… also proves that an identical earlier one made nothing. A failure (INTERNAL and the like) does not.
   */
  readonly refused: boolean;
  readonly why: string;
}

/** What earlier calls asked for of which no certain answer came. */
export type EarlierCalls = 'none' | 'the same' | 'something else';

type MethodsOf<S extends { method: object }> = Capitalize<keyof S['method'] & string>;

/** Every call of the specification by its name. */
export type CsiOperation =
  | MethodsOf<typeof Identity>
  | MethodsOf<typeof Controller>
  | MethodsOf<typeof GroupController>
  | MethodsOf<typeof SnapshotMetadata>
  | MethodsOf<typeof Node>;

type Row = Record<GrpcCode, Verdict>;

const final = (why: string): Verdict => ({ outcome: 'final', refused: false, why });
const refused = (why: string): Verdict => ({ outcome: 'final', refused: true, why });
const infeasible = (why: string): Verdict => ({ outcome: 'infeasible', refused: true, why });
const maybe = (why: string): Verdict => ({ outcome: 'maybe-in-progress', refused: false, why });

/** Calls that change something. */
const change: Row = {
  OK: final('it was done'),
  CANCELLED: maybe('we gave up waiting; the driver may not have noticed'),
  UNKNOWN: final('the driver failed in a way it has no code for'),
  INVALID_ARGUMENT: refused('the driver refused the request before it began'),
  DEADLINE_EXCEEDED: maybe('the answer did not come in time; the work may go on, or be done'),
  NOT_FOUND: refused('what the request names is not there, so nothing was done to it'),
  ALREADY_EXISTS: refused('something else is in its place'),
  PERMISSION_DENIED: final('the driver or its storage did not allow it'),
  RESOURCE_EXHAUSTED: maybe('the driver has no room for this call now; an earlier one may still be running'),
  FAILED_PRECONDITION: refused('the volume is not in a state in which it could begin'),
  ABORTED: maybe('another call for the same volume is under way, possibly an earlier one of ours'),
  OUT_OF_RANGE: refused('the driver refused the size before it began'),
  UNIMPLEMENTED: refused('the driver does not offer the call'),
  INTERNAL: final('the driver tried and failed'),
  UNAVAILABLE: maybe('the connection failed; the driver may have received the call, or an earlier one'),
  DATA_LOSS: final('the driver tried and lost data'),
  UNAUTHENTICATED: final('the driver or its storage did not accept the credentials'),
};

const readReason = 'a call that only reads leaves nothing behind';
/** Calls that only read: nothing can be in progress, whatever the code. */
const read: Row = Object.fromEntries(Object.keys(change).map((code) => [code, final(readReason)])) as Row;

const list: Row = {
  ...read,
  ABORTED: final('the starting token is no longer valid: start from the beginning'),
};

const createVolume: Row = {
  ...change,
  INVALID_ARGUMENT: infeasible('the parameters, capabilities or source do not suit the driver'),
  // Retried with ordinary backoff, as the official provisioner does: an administrator can remove the other volume, or
  // raise a limit of the driver, and neither is an event that would wake the claim.
  ALREADY_EXISTS: refused('a volume of this name exists with other properties'),
  OUT_OF_RANGE: refused('the driver does not make a volume of this size'),
  RESOURCE_EXHAUSTED: refused(
    'no room for the volume; for this call the specification means storage, not load',
  ),
};

const expandVolume: Row = {
  ...change,
  INVALID_ARGUMENT: infeasible('the volume does not support what is asked'),
  NOT_FOUND: infeasible('the volume is gone, it cannot grow'),
  OUT_OF_RANGE: infeasible('the driver cannot make the volume this large'),
};

export const outcomes: Readonly<Record<CsiOperation, Row>> = {
  GetPluginInfo: read,
  GetPluginCapabilities: read,
  Probe: read,

  CreateVolume: createVolume,
  DeleteVolume: change,
  ControllerPublishVolume: change,
  ControllerUnpublishVolume: change,
  ValidateVolumeCapabilities: read,
  ListVolumes: list,
  GetCapacity: read,
  ControllerGetCapabilities: read,
  CreateSnapshot: {
    ...change,
    ALREADY_EXISTS: infeasible('a snapshot of this name exists of another volume; the name never changes'),
  },
  DeleteSnapshot: {
    ...change,
    INVALID_ARGUMENT: infeasible('the snapshot is part of a group and can only be deleted with it'),
  },
  ListSnapshots: list,
  GetSnapshot: read,
  ControllerExpandVolume: expandVolume,
  ControllerGetVolume: read,
  ControllerModifyVolume: {
    ...change,
    INVALID_ARGUMENT: infeasible('the driver does not know these parameters, or not for this volume'),
  },

  GroupControllerGetCapabilities: read,
  CreateVolumeGroupSnapshot: {
    ...change,
    ALREADY_EXISTS: infeasible(
      'a group snapshot of this name exists of other volumes; the name never changes',
    ),
  },
  DeleteVolumeGroupSnapshot: change,
  GetVolumeGroupSnapshot: read,

  GetMetadataAllocated: read,
  GetMetadataDelta: read,

  NodeStageVolume: change,
  NodeUnstageVolume: change,
  NodePublishVolume: change,
  NodeUnpublishVolume: change,
  NodeGetVolumeStats: read,
  NodeExpandVolume: {
    ...expandVolume,
    FAILED_PRECONDITION: refused('it cannot grow while it is in use on the node; unmounting it changes that'),
  },
  // Asked in the middle of mounting: a driver that does not answer must not make an uncertain mount look certain.
  NodeGetCapabilities: change,
  NodeGetInfo: read,
};

const rescheduled: Verdict = {
  outcome: 'reschedule',
  refused: true,
  why: 'no room for the volume where the selected node can reach it; another node may have some',
};

/**
 * What `error` means for `operation`. `nodeSelected`: the scheduler chose a node for this volume and can choose again.
 * Anything but a CsiError, and codes gRPC does not define, say nothing about the driver: treated with care.
 */
export function outcomeOf(
  operation: CsiOperation,
  error: unknown,
  context: { nodeSelected?: boolean } = {},
): Verdict {
  const row = outcomes[operation];
  if (row === read || row === list) {
    return error instanceof CsiError ? row[error.code] : final(readReason);
  }
  if (!(error instanceof CsiError)) {
    return maybe('the call failed outside of CSI; an earlier one may still be running');
  }
  if (error.uncertain)
    return maybe("the driver's answer was lost on our side; it may have done what was asked");
  if (grpcCodeOf(error.rawCode) === undefined) {
    return maybe(`code ${error.rawCode} is not defined by gRPC and says nothing about what was done`);
  }
  if (operation === 'CreateVolume' && error.code === 'RESOURCE_EXHAUSTED' && context.nodeSelected) {
    return rescheduled;
  }
  return row[error.code];
}

/** Over, one way or the other: the state of the volume is certain. */
export function isFinal(verdict: Verdict): boolean {
  return verdict.outcome !== 'maybe-in-progress';
}

/**
 * Whether a failed Create… proves that the driver holds nothing of this name. A certain failure of a first call does.
 * After earlier calls without a certain answer only a refusal of the identical request does.
 */
export function provesNothingMade(verdict: Verdict, earlier: EarlierCalls): boolean {
  return isFinal(verdict) && (earlier === 'none' || (earlier === 'the same' && verdict.refused));
}
