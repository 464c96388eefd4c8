// A fault as it was asked for: which calls it strikes, how often, and what it does to them. Pure.

import { formatDuration } from '../runtime/flags/duration.ts';
import type { GrpcCode } from '../wire/grpc/grpc-code.ts';

export type FaultAction =
  | { readonly fault: 'csi-lost-before' | 'csi-lost-after'; readonly isSilent: boolean }
  | { readonly fault: 'csi-duplicated' | 'csi-past-deadline' }
  | { readonly fault: 'csi-refused'; readonly code: Exclude<GrpcCode, 'OK'> }
  | { readonly fault: 'csi-slow'; readonly delayMs: number }
  | { readonly fault: 'csi-crash-before' | 'csi-crash-after'; readonly component: string };

export interface Fault {
  /** The name of a CSI call, or the beginning of several with a `*` behind it. */
  readonly call: string;
  readonly action: FaultAction;
  /** Only calls to this driver, about this volume, on this node. */
  readonly driver?: string;
  readonly volume?: string;
  readonly node?: string;
  /** Of the calls that it could strike, this share; all unless given. */
  readonly percent?: number;
  /** It strikes this often and then no more; for ever unless given. */
  readonly times?: number;
}

/** A call to a driver, as far as faults are selected by it. */
export interface FaultableCall {
  /** `CreateVolume` */
  readonly method: string;
  /** Undefined where only one driver can be meant. */
  readonly driver: string | undefined;
  /** Names of the component that calls, as `crash` may give them: `node-1` and `node`. */
  readonly by: readonly string[];
  /** The node that the call comes from or is about: its name or the driver's ID of it. */
  readonly nodes: readonly string[];
  /** IDs and names of volumes and snapshots in the request. */
  readonly volumes: readonly string[];
}

/** Whether the fault can strike this call. Rate and count are somebody else's matter. */
export function isAimedAt(fault: Fault, call: FaultableCall): boolean {
  const { action, driver, volume, node } = fault;
  if (!callMatches(fault.call, call.method)) return false;
  if ('component' in action && action.component !== 'driver' && !call.by.includes(action.component))
    return false;
  if (driver !== undefined && call.driver !== undefined && driver !== call.driver) return false;
  if (volume !== undefined && !call.volumes.includes(volume)) return false;
  return node === undefined || call.nodes.includes(node);
}

export function callMatches(pattern: string, method: string): boolean {
  return pattern.endsWith('*') ? method.startsWith(pattern.slice(0, -1)) : method === pattern;
}

/** As it can be given to `berth fault add` again. */
export function formatFault({ call, action, driver, volume, node, percent, times }: Fault): string {
  return [
    'component' in action
      ? `crash ${action.component} ${action.fault === 'csi-crash-before' ? 'before' : 'after'} ${call}`
      : `${call} ${formatAction(action)}`,
    ...(driver === undefined ? [] : [`driver=${driver}`]),
    ...(volume === undefined ? [] : [`volume=${volume}`]),
    ...(node === undefined ? [] : [`node=${node}`]),
    ...(percent === undefined ? [] : [`${percent}%`]),
    ...(times === undefined ? [] : [times === 1 ? 'once' : `${times}x`]),
  ].join(' ');
}

function formatAction(action: Exclude<FaultAction, { component: string }>): string {
  switch (action.fault) {
    case 'csi-lost-before':
      return action.isSilent ? 'lose-request silently' : 'lose-request';
    case 'csi-lost-after':
      return action.isSilent ? 'lose-answer silently' : 'lose-answer';
    case 'csi-duplicated':
      return 'duplicate';
    case 'csi-past-deadline':
      return 'delay past-deadline';
    case 'csi-refused':
      return `fail ${action.code}`;
    case 'csi-slow':
      return `delay ${formatDuration(action.delayMs)}`;
  }
}
