// Deliberate bugs, to prove that the checkers would notice. Each is a wrapper at a port of the real component, so the
// components themselves know nothing of them.

import type { CsiTransport } from '../csi/transport.ts';
import type { Discovery, KubeClient } from '../runtime/kube.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

type Kube = KubeClient & Discovery;
type Lead = (signal: AbortSignal) => Promise<void>;

export interface Mutation {
  /** What is wrong, for the table. */
  readonly what: string;
  kube?(inner: Kube, process: string, world: World): Kube | undefined;
  csi?(inner: CsiTransport, process: string, world: World): CsiTransport | undefined;
  lead?(lead: Lead, process: SimProcess): Lead;
  /** Instead of dying. */
  onCrash?(process: SimProcess): true | undefined;
}

export const noMutation: Mutation = { what: 'nothing' };
