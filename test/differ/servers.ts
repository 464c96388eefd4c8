// The two servers, prepared alike: a namespace with its default account, and the custom kind that the tables use.

import { createApiServer } from '../../src/apiserver/api-server.ts';
import { quietLog } from '../../src/apiserver/testing/test-server.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { startKubeApiserver } from '../interop/kube-apiserver.ts';
import type { Pair } from './compare.ts';
import { heavyItem } from './directed.ts';
import { type JsonObject, type Server, Side, serverAt } from './exchange.ts';
import { subjects as allSubjects } from './subjects/index.ts';
import { WIDGETS } from './subjects/others.ts';
import { collectionOf, NAMESPACE, objectOf, type Subject } from './subjects/subject.ts';

const TOKEN = 'differ-admin-token';

export async function startPair(directory: string): Promise<Pair & { stop(): Promise<void> }> {
  // Pods get the same account on both. The plugin that taints new nodes needs a controller that removes the taints.
  const real = await startKubeApiserver(directory, { disabledAdmission: ['TaintNodesByCondition'] });
  const embedded = await createApiServer({
    clock: realClock,
    random: realRandom,
    log: quietLog,
    staticTokens: new Map([[TOKEN, { name: 'admin', groups: ['system:masters'] }]]),
  });
  const theirs = serverAt(real.url, String(real.headers?.authorization).replace('Bearer ', ''));
  const ours = serverAt(String(embedded.url), TOKEN);
  const stop = async (): Promise<void> => {
    for (const { agent } of [ours, theirs]) agent.destroy();
    await embedded.stop();
    await real.stop();
  };
  try {
    await Promise.all([prepare(ours), prepare(theirs)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ours, theirs, stop };
}

/** What the cases of these subjects need. */
export async function prepare(server: Server, subjects: readonly Subject[] = allSubjects): Promise<void> {
  const side = new Side(server);
  const create = async (path: string, object: JsonObject): Promise<void> => {
    const { code, body } = await side.take({ method: 'POST', path, body: { json: object } });
    if (code !== 201 && code !== 409)
      throw new Error(`${server.url}${path}: ${code} ${JSON.stringify(body)}`);
  };
  await create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  await create(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: 'default' } });
  await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', WIDGETS);
  for (const subject of subjects) {
    if (subject.heavy) await create(collectionOf(subject), objectOf(subject, 'heavy'));
  }
  const ready = [
    '/apis/differ.example.com/v1/widgets',
    ...subjects.filter(({ heavy }) => heavy).map(heavyItem),
  ];
  for (const path of ready) {
    while ((await side.take({ method: 'GET', path })).code !== 200) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
