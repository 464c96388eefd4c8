// What to do about a reported failure. It follows from the gRPC code and from what was attempted. Pure.

import type { DriverName, NodeName, VolumeHandle } from '../csi/names/driver-name.ts';
import { type CsiOperation, outcomes } from '../csi/outcome.ts';
import type { GrpcCode } from '../wire/grpc/grpc-code.ts';
import type { Report } from './report.ts';

/** What was attempted. */
export interface Attempt {
  /** The call that carries it out; a report may name another that it needs first. */
  readonly operation: CsiOperation;
  readonly driver: DriverName | undefined;
  /** `pvc data -n default`: as kubectl takes it. */
  readonly object: string;
  /** Where objects are that are named without one. */
  readonly namespace?: string | undefined;
  readonly storageClass?: string | undefined;
  readonly node?: NodeName | undefined;
  readonly volumeHandle?: VolumeHandle | undefined;
  /** The size that the claim has, where it is to grow. */
  readonly size?: string | undefined;
}

type Advice = (attempt: Attempt) => readonly string[];

/** It is not known where volumes of several drivers are concerned. */
const nameOf = ({ driver }: Attempt): string =>
  driver === undefined ? 'the driver of the volume' : `driver ${driver}`;
const storageOf = ({ driver }: Attempt): string => `the storage of ${driver ?? 'the driver'}`;

const driverLog = (attempt: Attempt): string => {
  const { node, operation } = attempt;
  const where = operation.startsWith('Node') && node ? ` on ${node}` : '';
  return `read the log of ${nameOf(attempt)}${where}`;
};
const credentials: Advice = (attempt) => [
  `check the credentials of ${nameOf(attempt)}: its secrets, and its account on the storage`,
  driverLog(attempt),
];

/** By code, whatever was attempted. */
const GENERAL: Readonly<Record<GrpcCode, Advice>> = {
  OK: () => [],
  CANCELLED: (attempt) => [driverLog(attempt)],
  UNKNOWN: (attempt) => [driverLog(attempt)],
  INTERNAL: (attempt) => [driverLog(attempt)],
  DATA_LOSS: (attempt) => [driverLog(attempt), 'restore the data from a backup'],
  INVALID_ARGUMENT: (attempt) => [
    'correct what the driver rejects',
    `delete ${attempt.object} and create it again`,
  ],
  DEADLINE_EXCEEDED: (attempt) => [
    `see whether ${storageOf(attempt)} answers`,
    "if it is only slow, raise the sidecar's --timeout",
  ],
  NOT_FOUND: (attempt) => [
    `see whether volume ${attempt.volumeHandle ?? 'of that ID'} still exists on ${storageOf(attempt)}`,
  ],
  ALREADY_EXISTS: (attempt) => [`remove what has this name on ${storageOf(attempt)}`],
  PERMISSION_DENIED: credentials,
  UNAUTHENTICATED: credentials,
  RESOURCE_EXHAUSTED: (attempt) => [`make room on ${storageOf(attempt)}, or raise its limit`],
  FAILED_PRECONDITION: (attempt) => [
    'bring the volume into the state that the driver asks for',
    driverLog(attempt),
  ],
  ABORTED: () => ['wait: another call for the same volume is in progress'],
  OUT_OF_RANGE: ({ object }) => [
    `ask for a size that the driver allows: delete ${object} and create it again`,
  ],
  UNIMPLEMENTED: (attempt) => [`${nameOf(attempt)} does not offer ${attempt.operation}: use another driver`],
  UNAVAILABLE: (attempt) => [`start ${nameOf(attempt)}, and read its log`],
};

/** By what was attempted and code, where that says more. */
const SPECIAL: Partial<Record<CsiOperation, Partial<Record<GrpcCode, Advice>>>> = {
  CreateVolume: {
    INVALID_ARGUMENT: ({ storageClass, object }) => [
      `correct the parameters of StorageClass ${storageClass}: delete it and create it again, since they cannot be changed`,
      `or delete ${object} and create it again with another class`,
    ],
    RESOURCE_EXHAUSTED: ({ driver, object }) => [
      `make room on the storage of ${driver}: the claim is tried again by itself`,
      `or delete ${object} and create it again, smaller or with another class`,
    ],
  },
  ControllerPublishVolume: {
    RESOURCE_EXHAUSTED: ({ node, object }) => [
      `detach other volumes from ${node}: delete pods there`,
      `or delete ${object}, so that it is scheduled to another node`,
    ],
    FAILED_PRECONDITION: ({ volumeHandle, driver }) => [
      `detach volume ${volumeHandle} on the storage of ${driver} from where it is still attached`,
    ],
  },
  ControllerExpandVolume: {
    OUT_OF_RANGE: lowerRequest,
    INVALID_ARGUMENT: lowerRequest,
    FAILED_PRECONDITION: () => [
      'delete the pods that use the claim: the driver expands it only while it is not in use',
    ],
  },
  NodeExpandVolume: {
    FAILED_PRECONDITION: () => ['delete the pods that use the claim, and start them again'],
  },
  ControllerModifyVolume: {
    INVALID_ARGUMENT: ({ object }) => [
      `let ${object} name its former VolumeAttributesClass, or one that the driver accepts`,
    ],
  },
  DeleteVolume: {
    FAILED_PRECONDITION: ({ volumeHandle, driver }) => [
      `remove on the storage of ${driver} what depends on volume ${volumeHandle}: it is tried again by itself`,
    ],
  },
  CreateSnapshot: {
    RESOURCE_EXHAUSTED: ({ driver }) => [
      `delete other snapshots, or make room on the storage of ${driver}: it is tried again by itself`,
    ],
  },
};

function lowerRequest({ object, size }: Attempt): string[] {
  return [`lower the request of ${object}${size ? ` to ${size}` : ''}: kubectl edit ${object}`];
}

/** `secret default/absent does not exist`, `configmap "settings" not found`, `secrets "key" not found`. */
const MISSING =
  /\b(secret|configmap)s? "?(?:([a-z0-9.-]+)\/)?([a-z0-9.-]+)"?(?: in namespace \S+)? (?:does not exist|not found)/i;
const KINDS: Readonly<Record<string, string>> = { secret: 'Secret', configmap: 'ConfigMap' };

export function adviceOn(report: Report, attempt: Attempt): readonly string[] {
  const missing = missingObject(report, attempt.namespace);
  if (missing !== undefined) return [`create ${missing}: it is tried again by itself`];
  if (report.code === undefined) return attempt.driver === undefined ? [] : [driverLog(attempt)];
  const advice = SPECIAL[attempt.operation]?.[report.code] ?? GENERAL[report.code];
  return advice(attempt);
}

/** `Secret default/absent`, where the report says that there is none. */
function missingObject({ words }: Report, within?: string): string | undefined {
  const [, kind = '', namespace = within, name] = MISSING.exec(words) ?? [];
  return name && `${KINDS[kind.toLowerCase()]} ${namespace ? `${namespace}/` : ''}${name}`;
}

/** Whether it can end without anybody's help: not once the same failure repeats, nor where the request itself was refused. */
export function canEnd(report: Report, { operation }: Attempt): boolean {
  if (report.code === 'ABORTED') return true;
  if (report.times > 1 || missingObject(report) !== undefined) return false;
  if (report.code === undefined) return true;
  const verdict = outcomes[operation][report.code];
  // A precondition can come true: another volume is detached, a pod ends.
  return !verdict.refused || report.code === 'FAILED_PRECONDITION';
}

/** The cause in one clause. */
export function causeText(report: Report, attempt: Attempt): string {
  const { operation, node } = attempt;
  const { code, call = operation, socket, words } = report;
  const where = call.startsWith('Node') && node ? ` on ${node}` : '';
  if (code === undefined) return words;
  if (
    code === 'UNAVAILABLE' &&
    (socket !== undefined || /^connect |connection (?:error|refused)/.test(words))
  ) {
    return `${nameOf(attempt)} is down${where}: nothing answers at ${socket ?? 'its socket'} (${words.replace(` ${socket}`, '')})`;
  }
  if (code === 'DEADLINE_EXCEEDED') return `${nameOf(attempt)}${where} does not answer ${call} in time`;
  return `${call} of ${nameOf(attempt)} failed${where}: ${code}: ${words}`;
}
