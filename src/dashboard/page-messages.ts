// Messages from the server in this folder to the code in page/: plain data. Types only.

import type { DriverName, NodeId, VolumeHandle } from '../csi/names/driver-name.ts';
import type { Link, LinkState } from '../why/chain.ts';

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
}

interface Row {
  /** Of its kind, and the same for as long as the object lives. */
  readonly id: string;
}

/** The life of one volume: a claim with all that belongs to it, or a volume that no claim has. */
export interface VolumeRow extends Row {
  readonly subject: 'claim' | 'volume';
  /** Of a claim. */
  readonly namespace?: string;
  readonly name: string;
  readonly state: State;
  /** The sentence on what is wrong; empty when nothing is. */
  readonly says: string;
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
    readonly node: string;
    readonly attached: boolean;
    readonly isGoing: boolean;
    readonly error?: string;
  }[];
  /** Pods that use it. */
  readonly pods: readonly { readonly name: string; readonly node?: string; readonly phase: string }[];
}

/** A pod that has volumes of CSI drivers or of claims. */
export interface PodRow extends Row {
  readonly namespace: string;
  readonly name: string;
  readonly state: State;
  readonly says: string;
  readonly phase: string;
  readonly isGoing: boolean;
  readonly createdMs: number;
  readonly node?: string;
  /** Names of claims, and names of drivers for volumes written in the pod. */
  readonly volumes: readonly { readonly claim?: string; readonly driver?: DriverName }[];
}

export interface NodeRow extends Row {
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

export interface DriverRow extends Row {
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

export interface ClassRow extends Row {
  readonly name: string;
  readonly driver: string;
  readonly isDefault: boolean;
  readonly bindingMode: string;
  readonly reclaimPolicy: string;
  readonly canExpand: boolean;
}

export interface SnapshotRow extends Row {
  readonly namespace: string;
  readonly name: string;
  readonly isReady: boolean;
  readonly isGoing: boolean;
  readonly createdMs: number;
  /** The claim it was taken of. */
  readonly claim?: string;
  readonly size?: string;
  readonly error?: string;
}

export interface Tables {
  readonly volumes: readonly VolumeRow[];
  readonly pods: readonly PodRow[];
  readonly nodes: readonly NodeRow[];
  readonly drivers: readonly DriverRow[];
  readonly classes: readonly ClassRow[];
  readonly snapshots: readonly SnapshotRow[];
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

/** Answer to `GET /api/subject?kind=claim|volume|pod&namespace=…&name=…`; 404 with `{ "error": … }` when it is gone. */
export interface SubjectDetails {
  readonly kind: 'claim' | 'volume' | 'pod';
  readonly namespace?: string;
  readonly name: string;
  /** The chain to its storage, up to the first link that is not well. */
  readonly links: readonly Link[];
  /** Newest first. */
  readonly events: readonly EventLine[];
  /** All that happened to it and to what belongs to it, oldest first; empty without history. */
  readonly steps: readonly Step[];
  /** The object as YAML-like JSON, without what could hold a secret. */
  readonly object: unknown;
}
