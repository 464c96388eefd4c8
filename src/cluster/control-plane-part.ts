// The control plane in one part: each controller writes under its own account, and all read through one set of
// informers under the controller manager's identity, as in Kubernetes. The scheduler and the snapshot controller have
// identities of their own.

import { serviceAccountUser } from '../apiserver/auth/users.ts';
import type { User } from '../apiserver/index.ts';
import type { Controller, DiscoveringPorts } from '../control-plane/controller.ts';
import { createDataSourceValidator } from '../control-plane/data-source-validator/data-source-validator.ts';
import { createScheduler } from '../control-plane/scheduler/scheduler.ts';
import { createSnapshotController } from '../control-plane/snapshot/snapshot-controller.ts';
import { COMPONENT_ACCOUNTS } from '../manifests/published-rbac.ts';
import type { Part } from '../runtime/process/supervise.ts';
import { together } from '../runtime/process/together.ts';
import { type PartContext, partPorts, runComponent } from './part-context.ts';

export interface ClusterController {
  readonly name: string;
  /** Its service account in kube-system. */
  readonly account: string;
  create(ports: DiscoveringPorts): Controller;
}

const MANAGER: User = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] };
const SCHEDULER: User = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

export function controlPlanePart(context: PartContext, controllers: readonly ClusterController[]): Part {
  const { random } = context;
  return {
    name: 'control plane',
    run: (given, serving) =>
      runComponent(context, { name: 'controller-manager' }, given, async ({ signal, clock, process }) => {
        const shared = partPorts(context, { name: 'controller-manager', user: MANAGER, signal, process });
        const { informers } = shared;
        const running = controllers.map(({ name, account, create }) => {
          const user = serviceAccountUser('kube-system', account);
          const ports = partPorts(context, { name, user, signal, process });
          const recorder = ports.recorderFor(account);
          const { gates = {} } = context;
          return create({ ...ports, discovery: ports.kube, informers, recorder, clock, random, gates });
        });
        informers.start(signal);
        informers.synced(signal).then(serving, () => {});
        await together(running).run(signal);
      }),
  };
}

export function schedulerPart(context: PartContext): Part {
  const { random } = context;
  return {
    name: 'scheduler',
    run: (given, serving) =>
      runComponent(context, { name: 'scheduler' }, given, async ({ signal, clock, process }) => {
        const ports = partPorts(context, { name: 'scheduler', user: SCHEDULER, signal, process });
        const { informers } = ports;
        const recorder = ports.recorderFor('default-scheduler');
        const { gates = {} } = context;
        const scheduler = createScheduler({ ...ports, recorder, clock, random, gates });
        informers.start(signal);
        informers.synced(signal).then(serving, () => {});
        await scheduler.run(signal);
      }),
  };
}

/** Programs that run once per cluster, each with an account of its own. */
const PROGRAMS = {
  'snapshot-controller': createSnapshotController,
  'data-source-validator': createDataSourceValidator,
} as const;

export type ProgramName = keyof typeof PROGRAMS;
export const PROGRAM_NAMES = Object.keys(PROGRAMS) as ProgramName[];

export function programPart(context: PartContext, name: ProgramName): Part {
  const { random } = context;
  const user = serviceAccountUser('kube-system', COMPONENT_ACCOUNTS[name]);
  return {
    name,
    run: (given, serving) =>
      runComponent(context, { name }, given, async ({ signal, clock, process }) => {
        const ports = partPorts(context, { name, user, signal, process });
        const { informers } = ports;
        const recorder = ports.recorderFor(COMPONENT_ACCOUNTS[name]);
        const controller = PROGRAMS[name]({ ...ports, recorder, clock, random });
        informers.start(signal);
        informers.synced(signal).then(serving, () => {});
        await controller.run(signal);
      }),
  };
}
