// The rules that no run may violate. Checkers read the history as it is written and nothing else of the world. They know
// nothing of how the components work.

import type { Entry, History } from '../history.ts';
import type { Plan } from '../plan.ts';
import { bindingChecker } from './binding.ts';
import { callChecker } from './calls.ts';
import { expansionChecker } from './expansion.ts';
import { finalizerChecker } from './finalizers.ts';
import { hotLoopChecker } from './hot-loops.ts';
import { leaderChecker } from './leaders.ts';
import { ownerChecker } from './owners.ts';
import { provisioningChecker } from './provisioning.ts';
import { readOnlyChecker } from './read-only.ts';
import { secretChecker } from './secrets.ts';
import { snapshotChecker } from './snapshots.ts';
import { volumeStateChecker } from './volume-states.ts';

export interface Rules {
  readonly plan: Plan;
  violate(rule: string, text: string): void;
}

/** Takes the entries of the kinds that it names, one by one, and reports violations. */
export type Checker = {
  readonly [K in Entry['kind']]?: (entry: Extract<Entry, { kind: K }>) => void;
};

/** Every rule by the name that a violation carries. */
export const RULES = {
  'acts-after-stop': 'a process that was told to stop starts no new request or call',
  'component-failed': 'a component ends only when it is told to stop or loses its lease',
  convergence: 'what users asked for is there within a bounded time after the last fault',
  leak: 'nothing is left of what users deleted: no volume, no object, no mount, no file',
  'deleted-in-use': 'no volume is deleted while it is attached, staged, published or claimed',
  'deleted-retained': 'no volume or snapshot is deleted whose class said to keep it',
  'two-nodes': 'a volume for one node is never attached to two, nor staged or published on two',
  affinity:
    'nothing is staged or published on a node that the node affinity of its PersistentVolume excludes',
  'call-order': 'attach, stage, publish and back: no step before the one that it stands on',
  'forced-detach':
    'a volume is detached by force from a silent node only after six minutes without a pod there, or when the node is out of service',
  'pod-early': 'a node deletes a pod only when nothing is published for it',
  'one-in-flight': 'one component has at most one call under way for one volume',
  'finalizer-early': 'no finalizer is removed before what it protects is gone',
  'two-claims': 'a volume belongs to at most one claim',
  'volume-name': 'a claim keeps one volume name, made from its UID, and a snapshot or group one name',
  'changed-request':
    'a repeated CreateVolume or CreateSnapshot asks for the same as the first; so does ControllerExpandVolume while one may be in flight',
  size: 'no claim or volume reports more than its storage, or its filesystem, has',
  'read-only': 'a volume that a pod only reads is published read-only, down to the device',
  'cut-source': 'no volume is deleted while a snapshot of it is being cut',
  'driver-promise':
    'a driver under test that answers OK has done what it was asked for, and says the same of a volume each time',
  'ready-early': 'no content says that a snapshot is ready before it is',
  'half-group': 'a group snapshot is ready with a member for each of its volumes, or not at all',
  restore:
    'a claim that restores a snapshot gets a volume made from it; the snapshot is there and ready, and stays meanwhile',
  'two-leaders': 'only the holder of the lease calls the driver',
  'two-owners': 'an object is never the share of two replicas, and no two call the driver for it at once',
  'no-owner': 'with all replicas up, no object is without an owner for longer than a bound',
  secret: 'secrets are in the calls they belong to, and nowhere else',
  'audit-missed':
    'with --audit=planted: the auditor finds every planted leak, and its plan ends all that may be ended',
  'audit-false': 'with --audit: the auditor finds nothing else, and touches nothing that may be another’s',
  'hot-loop': 'nothing is requested or written repeatedly without backoff',
} as const;

export type Rule = keyof typeof RULES;

const NONE: readonly ((entry: Entry) => void)[] = [];

export function createCheckers({ plan, history }: { plan: Plan; history: History }): void {
  const rules: Rules = { plan, violate: (rule, text) => history.violate(rule, text) };
  const checkers: Checker[] = [
    volumeStateChecker(rules),
    callChecker(rules),
    finalizerChecker(rules),
    bindingChecker(rules),
    provisioningChecker(rules),
    expansionChecker(rules),
    leaderChecker(rules),
    ownerChecker(rules),
    readOnlyChecker(rules),
    secretChecker(rules),
    snapshotChecker(rules),
    hotLoopChecker(rules),
  ];
  const byKind = new Map<string, ((entry: Entry) => void)[]>();
  for (const checker of checkers) {
    for (const [kind, check] of Object.entries(checker)) {
      byKind.set(kind, [...(byKind.get(kind) ?? []), check as (entry: Entry) => void]);
    }
  }
  history.observe((entry) => {
    if (history.violations.length > 0) return;
    for (const check of byKind.get(entry.kind) ?? NONE) check(entry);
  });
}
