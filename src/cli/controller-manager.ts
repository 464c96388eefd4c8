// `berth controller-manager`: the volume controllers, against any API server.

import { controllers } from '../control-plane/index.ts';
import { selectControllers } from '../control-plane/select-controllers.ts';
import { stringsFlag } from '../runtime/flags/flag.ts';
import { together } from '../runtime/process/together.ts';
import { defineCommand, UsageError } from './command.ts';
import {
  controlPlaneFlags,
  electionOf,
  leaseNameFlag,
  runControlPlaneProcess,
} from './control-plane-process.ts';

export const command = defineCommand({
  summary: 'Runs the volume controllers: binder, attach/detach, garbage collection and others',
  description:
    'The volume controllers of kube-controller-manager, in its place or, with --controllers, beside it. The controllers ' +
    `of the same names must then be disabled there. The controllers: ${controllers.map(({ name }) => name).join(', ')}.`,
  flags: {
    controllers: stringsFlag({
      help: "Controllers to run: '*' for all, 'name' for one, '-name' for all but one",
      default: ['*'],
    }),
    ...controlPlaneFlags,
    'leader-elect-resource-name': leaseNameFlag('kube-controller-manager'),
  },
  async run(context) {
    const { flags } = context;
    const chosen = choose(flags.controllers);
    await runControlPlaneProcess(
      {
        name: 'controller-manager',
        leaseName: flags.leaderElectResourceName,
        ...electionOf(flags),
        create(ports) {
          const running = chosen.map(({ create }) => create({ ...ports, gates: flags.featureGates }));
          return { name: running.map(({ name }) => name).join(', '), ...together(running) };
        },
      },
      flags,
      context,
    );
  },
});

function choose(words: readonly string[]) {
  let chosen: ReturnType<typeof selectControllers<(typeof controllers)[number]>>;
  try {
    chosen = selectControllers(controllers, words);
  } catch (error) {
    throw new UsageError(`--controllers: ${(error as Error).message}`);
  }
  if (chosen.length === 0) throw new UsageError('--controllers selects no controller');
  return chosen;
}
