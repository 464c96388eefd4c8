// `berth demo`: shows the lifecycle of volumes in a terminal, on a temporary cluster.

import { openDataDirectory } from '../cluster/data-directory.ts';
import { planNodes } from '../cluster/plan-nodes.ts';
import { startCluster } from '../cluster/start-cluster.ts';
import { createNarrator } from '../demo/narrator.ts';
import { SeenCalls } from '../demo/seen-calls.ts';
import { tellStory } from '../demo/tell-story.ts';
import { quietLog } from '../runtime/log/quiet-log.ts';
import { checkUser, openTriedMounter } from '../runtime/mount/tried-mounter.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { duration } from '../trace/timeline.ts';
import { defineCommand, ExitCode } from './command.ts';
import { enterNamespace } from './rootless.ts';
import { packageVersion } from './version.ts';

const NODES = 3;

export const command = defineCommand({
  summary: 'Shows the lifecycle of volumes on a real temporary cluster, in a few seconds',
  description:
    'Starts a temporary cluster and uses its volumes. Prints the objects and CSI calls of each step and how long it took, ' +
    'and checks that nothing is left. Exit code 0 only if every step succeeded. Without root it runs in a ' +
    'user and mount namespace of its own.',
  flags: {},
  async run({ signal, log, stdout, env }) {
    if (process.platform === 'linux' && process.getuid?.() !== 0) enterNamespace(env);
    checkUser();
    const startedMs = realClock.monotonicMs();
    const directory = await openDataDirectory(undefined);
    try {
      const mounter = await openTriedMounter(directory.path);
      const nodes = planNodes(NODES);
      const seen = new SeenCalls();
      const cluster = await startCluster({
        clock: realClock,
        random: realRandom,
        log: quietLog(log),
        mounter,
        version: await packageVersion(),
        directory,
        nodes,
        brought: [],
        inlineHandles: false,
        without: new Set(),
        host: '127.0.0.1',
        port: 0,
        kubeconfig: directory.kubeconfig,
        interceptors: [seen.interceptor],
        signal,
      });
      stdout.write(
        `A cluster of ${NODES} nodes, started in ${duration(realClock.monotonicMs() - startedMs)}\n\n`,
      );
      const [first = '', second = '', third = ''] = nodes.map(({ name }) => name);
      const narrator = createNarrator({
        book: cluster.book,
        clock: realClock,
        write: (text) => stdout.write(text),
      });
      try {
        await tellStory({
          cluster,
          narrator,
          seen,
          directory,
          nodeNames: [first, second, third],
          mounter,
          clock: realClock,
          signal,
        });
      } finally {
        await cluster.stop();
      }
      stdout.write(`\nAll steps succeeded, in ${duration(realClock.monotonicMs() - startedMs)}.\n`);
      return ExitCode.ok;
    } finally {
      await directory.remove();
    }
  },
});
