// The commands of `berth`, in the order in which help lists them. Commands are
// imported lazily, so that starting one does not load the others.
import type { Command } from './command.ts';

export interface CommandRow {
  readonly group: string;
  /** Not listed. */
  readonly hidden?: true;
  readonly load: () => Promise<{ command: Command }>;
}

export const commands: Readonly<Record<string, CommandRow>> = {
  up: { group: 'Run', load: () => import('./up.ts') },
  demo: { group: 'Run', load: () => import('./demo.ts') },
  apiserver: { group: 'Run', load: () => import('./apiserver.ts') },
  'controller-manager': { group: 'Run', load: () => import('./controller-manager.ts') },
  scheduler: { group: 'Run', load: () => import('./scheduler.ts') },
  'snapshot-controller': { group: 'Run', load: () => import('./snapshot-controller.ts') },
  'data-source-validator': { group: 'Run', load: () => import('./data-source-validator.ts') },
  node: { group: 'Run', load: () => import('./node.ts') },
  'node-credentials': { group: 'Run', load: () => import('./node-credentials.ts') },
  driver: { group: 'Run', load: () => import('./driver.ts') },
  provisioner: { group: 'Sidecars of a driver', load: () => import('./provisioner.ts') },
  attacher: { group: 'Sidecars of a driver', load: () => import('./attacher.ts') },
  resizer: { group: 'Sidecars of a driver', load: () => import('./resizer.ts') },
  snapshotter: { group: 'Sidecars of a driver', load: () => import('./snapshotter.ts') },
  'health-monitor': { group: 'Sidecars of a driver', load: () => import('./health-monitor.ts') },
  'snapshot-metadata': { group: 'Sidecars of a driver', load: () => import('./snapshot-metadata.ts') },
  'node-registrar': { group: 'Sidecars of a driver', load: () => import('./node-registrar.ts') },
  'cluster-registrar': { group: 'Sidecars of a driver', load: () => import('./cluster-registrar.ts') },
  sidecars: { group: 'Sidecars of a driver', load: () => import('./sidecars.ts') },
  livenessprobe: { group: 'Sidecars of a driver', load: () => import('./livenessprobe.ts') },
  manifests: { group: 'Sidecars of a driver', load: () => import('./manifests.ts') },
  apply: { group: 'Objects', load: () => import('./apply.ts') },
  get: { group: 'Objects', load: () => import('./get.ts') },
  describe: { group: 'Objects', load: () => import('./describe.ts') },
  delete: { group: 'Objects', load: () => import('./delete.ts') },
  logs: { group: 'Objects', load: () => import('./logs.ts') },
  wait: { group: 'Objects', load: () => import('./wait.ts') },
  'changed-blocks': { group: 'Look', load: () => import('./changed-blocks.ts') },
  dashboard: { group: 'Look', load: () => import('./dashboard.ts') },
  why: { group: 'Look', load: () => import('./why.ts') },
  audit: { group: 'Look', load: () => import('./audit.ts') },
  trace: { group: 'Look', load: () => import('./trace.ts') },
  plan: { group: 'Look', load: () => import('./plan.ts') },
  'support-bundle': { group: 'Look', load: () => import('./support-bundle.ts') },
  proxy: { group: 'Check', load: () => import('./proxy.ts') },
  fault: { group: 'Check', load: () => import('./fault.ts') },
  chaos: { group: 'Check', load: () => import('./chaos.ts') },
  replay: { group: 'Check', load: () => import('./replay.ts') },
  try: { group: 'Check', load: () => import('./try.ts') },
  check: { group: 'Check', load: () => import('./check.ts') },
  sim: { group: 'Check', load: () => import('./sim.ts') },
  completion: { group: 'About', load: () => import('./completion.ts') },
  complete: { group: 'About', hidden: true, load: () => import('./complete.ts') },
  version: { group: 'About', load: () => import('./version.ts') },
};
