// Messages from the server in this folder to the code in page/: plain data. Types, and the kinds of objects that both know.

import type { DriverName, NodeId, VolumeHandle } from '../csi/names/driver-name.ts';
import type { Link, LinkState } from '../why/chain.ts';

/** Objects with a page of their own. */
export const subjectKinds = [
  'claim',
  'volume',
  'pod',
  'snapshot',
  'group',
  'node',
  'driver',
  'class',
] as const;
export type SubjectKind = (typeof subjectKinds)[number];

/** State. `waits`: a component works on it. `stuck`: nothing happens until a person acts. */
export type State = LinkState;

export interface About {
  readonly version: string;
  /** Of the API server. */
  readonly server: string;
  /** Whether each change and call is recorded, as where everything runs in one process. */
  readonly hasHistory: boolean;
  /** Kinds that may not be read, or are not served: what they would say is missing. */
  readonly unread: readonly string[];
  /** A command that makes a first volume, shown while there is none. */
  readonly example: string;
  /** Whether actions are allowed, by a viewer's own token. */
  readonly allowsActions: boolean;
}

interface Row {
  /** Of its kind, and the same for as long as the object lives. */
  readonly id: string;
}

/** A cause, and what it keeps from being well. */
export interface TroubleRow extends Row {
  readonly state: Exclude<State, 'ok'>;
  /** The link that is not well: `PersistentVolumeClaim default/data`, `attachment to node-1`. */
  readonly subject: string;
  readonly says: string;
  /** What to do, most likely first. */
  readonly todo: readonly string[];
  /** Recent warning events, newest first. */
  readonly said: readonly string[];
  /** `Pod default/web`, `Node node-1`: pods first, and only the first of very many. */
  readonly affects: readonly string[];
  /** Its place: the worst first. */
  readonly order: number;
  /** How many in all. */
  readonly affected: number;
  /** Of the oldest affected object. */
  readonly createdMs: number;
}

/** What every row says of its object: the sentence is empty when all is well. */
interface Judged {
  readonly state: State;
  readonly says: string;
}

/** The life of one volume: a claim with all that belongs to it, or a volume that no claim has. */
export interface VolumeRow extends Row, Judged {
  readonly subject: 'claim' | 'volume';
  /** Of a claim. */
  readonly namespace?: string;
  readonly name: string;
  /** As the object has it: Pending, Bound, Lost, Available, Released, Failed. */
  readonly phase: string;
  readonly isGoing: boolean;
  readonly createdMs: number;
  /** As written, `1Gi`. */
  readonly size?: string;
  readonly className?: string;
  readonly accessModes: readonly string[];
  /** Name of the PersistentVolume. */
  readonly volume?: string;
  readonly driver?: DriverName;
  readonly handle?: VolumeHandle;
  readonly attachments: readonly {
    /** Of the VolumeAttachment. */
    readonly name: string;
    readonly node: string;
    readonly attached: boolean;
    readonly isGoing: boolean;
    readonly error?: string;
  }[];
  /** Pods that use it. */
  readonly pods: readonly {
    readonly name: string;
    readonly node?: string;
    readonly phase: string;
    /** Its volumes are mounted, though perhaps no container runs yet. */
    readonly isMounted: boolean;
  }[];
}

/** A pod that has volumes of CSI drivers or of claims. */
export interface PodRow extends Row, Judged {
  readonly namespace: string;
  readonly name: string;
  readonly phase: string;
  readonly isGoing: boolean;
  readonly createdMs: number;
  readonly node?: string;
  /** Names of claims, and names of drivers for volumes written in the pod. */
  readonly volumes: readonly { readonly claim?: string; readonly driver?: DriverName }[];
}

export interface NodeRow extends Row, Judged {
  readonly name: string;
  readonly isReady: boolean;
  readonly drivers: readonly {
    readonly name: string;
    readonly nodeId: NodeId;
    /** Key and value, as far as the node's labels have one. */
    readonly topology: Readonly<Record<string, string>>;
    /** How many volumes may be attached at once; absent when the driver did not say. */
    readonly limit?: number;
    readonly attached: number;
  }[];
  /** Pods with volumes on it. */
  readonly pods: number;
}

export interface DriverRow extends Row, Judged {
  readonly name: string;
  readonly attachRequired: boolean;
  readonly podInfoOnMount: boolean;
  readonly storageCapacity: boolean;
  /** Persistent, Ephemeral. */
  readonly modes: readonly string[];
  readonly fsGroupPolicy: string;
  readonly volumes: number;
  /** Nodes that it is registered on. */
  readonly nodes: number;
}

export interface ClassRow extends Row, Judged {
  readonly name: string;
  readonly driver: string;
  readonly isDefault: boolean;
  readonly bindingMode: string;
  readonly reclaimPolicy: string;
  readonly canExpand: boolean;
}

export interface SnapshotRow extends Row, Judged {
  readonly namespace: string;
  readonly name: string;
  readonly isReady: boolean;
  readonly isGoing: boolean;
  readonly createdMs: number;
  /** The claim it was taken of. */
  readonly claim?: string;
  /** The group snapshot that it is a member of. */
  readonly group?: string;
  readonly size?: string;
}

export interface GroupRow extends Row, Judged {
  readonly namespace: string;
  readonly name: string;
  readonly isReady: boolean;
  readonly isGoing: boolean;
  readonly createdMs: number;
  /** Its members. */
  readonly snapshots: number;
}

export interface Tables {
  /** The worst first. */
  readonly troubles: readonly TroubleRow[];
  readonly volumes: readonly VolumeRow[];
  readonly pods: readonly PodRow[];
  readonly nodes: readonly NodeRow[];
  readonly drivers: readonly DriverRow[];
  readonly classes: readonly ClassRow[];
  readonly snapshots: readonly SnapshotRow[];
  readonly groups: readonly GroupRow[];
}

/** One thing that happened. */
export interface Step {
  /** Grows; two steps of one number are the same. -1: a call that is under way. */
  readonly seq: number;
  readonly atMs: number;
  /** `provisioner`, `node-1`. */
  readonly by: string;
  readonly text: string;
  readonly kind: 'api' | 'csi' | 'retry';
  readonly hasFailed: boolean;
}

/** What drivers did since the last sample. */
export interface CallFigures {
  readonly method: string;
  readonly count: number;
  readonly failed: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

/** How the cluster stood at one moment; one a second while somebody looks. */
export interface Sample {
  readonly atMs: number;
  readonly claims: number;
  readonly bound: number;
  readonly pods: number;
  readonly running: number;
  readonly attached: number;
  /** Absent without history. */
  readonly calls?: readonly CallFigures[];
}

export interface TableChange<R> {
  readonly put: readonly R[];
  readonly gone: readonly string[];
}

export type Changes = { readonly [T in keyof Tables]?: TableChange<Tables[T][number]> };

/** What comes from `GET /api/live`, as server-sent events with this in `data`. `nowMs` is the server's clock. */
export type Message =
  /** First, and again after a reconnection: replaces everything. */
  | {
      readonly kind: 'all';
      readonly nowMs: number;
      readonly about: About;
      readonly tables: Tables;
      readonly samples: readonly Sample[];
      /** The last ones, oldest first. */
      readonly steps: readonly Step[];
    }
  | { readonly kind: 'changes'; readonly nowMs: number; readonly changes: Changes }
  | { readonly kind: 'steps'; readonly steps: readonly Step[] }
  | { readonly kind: 'sample'; readonly sample: Sample }
  /** A part of the whole could not be made; the page shows it, and goes on. */
  | { readonly kind: 'trouble'; readonly says: string };

export interface EventLine {
  readonly atMs: number;
  readonly type: string;
  readonly by: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
}

export const actionNames = [
  'delete-attachment',
  'retry-claim',
  'retry-attachment',
  'retry-snapshot',
] as const;

/** Body of `POST /api/action`, with the viewer's token as bearer; answered with `{ "says": … }`. */
export interface ActionRequest {
  readonly action: (typeof actionNames)[number];
  readonly namespace?: string;
  readonly name: string;
}

/** A topology segment of a driver: its nodes, and the capacity that is left there. */
export interface MapSegment {
  /** `zone=a`; empty for a driver without topology. */
  readonly label: string;
  readonly nodes: readonly {
    readonly name: string;
    readonly isReady: boolean;
    /** The volume can be used there. */
    readonly isReachable: boolean;
    /** The volume is attached there. */
    readonly isAttached: boolean;
    /** Pods there that use the volume. */
    readonly pods: number;
  }[];
  /** Nodes that are not listed, of very many. */
  readonly more: number;
  readonly capacity: readonly {
    readonly className: string;
    readonly bytes: number;
    /** Of the largest volume, where it is less. */
    readonly largestBytes?: number;
  }[];
}

/**
 * Answer to `GET /api/subject?kind=…&namespace=…&name=…`; 404 with `{ "error": … }` when it is gone.
 */
export interface SubjectDetails {
  readonly kind: SubjectKind;
  readonly namespace?: string;
  readonly name: string;
  /** The chain to its storage, up to the first link that is not well. */
  readonly links: readonly Link[];
  /** Newest first. */
  readonly events: readonly EventLine[];
  /** All that happened to it and to what belongs to it, oldest first; empty without history. */
  readonly steps: readonly Step[];
  /** Where the volume can be used, or what the driver has where; absent for other kinds. */
  readonly map?: readonly MapSegment[];
  /** The object as YAML-like JSON, without what could hold a secret. */
  readonly object: unknown;
}
