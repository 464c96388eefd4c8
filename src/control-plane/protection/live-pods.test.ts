import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { LivePods } from './live-pods.ts';

const never = new AbortController().signal;

function world() {
  const lists: { namespace: string; answer: PromiseWithResolvers<{ items: Pod[] }> }[] = [];
  const kube = {
    list(_resource: unknown, { namespace }: { namespace: string }) {
      const answer = Promise.withResolvers<{ items: Pod[] }>();
      lists.push({ namespace, answer });
      return answer.promise;
    },
  } as unknown as KubeClient;
  const listed = async (count: number) => {
    for (let i = 0; i < 20 && lists.length < count; i++) await Promise.resolve();
    return lists.length;
  };
  return { live: new LivePods(kube), lists, listed };
}

test('callers during a list share the next one, which begins when the first has ended', async () => {
  const { live, lists, listed } = world();
  const first = live.in('ns', never);
  assert.equal(await listed(1), 1);
  const second = live.in('ns', never);
  assert.equal(live.in('ns', never), second);
  assert.notEqual(second, first);
  assert.equal(await listed(2), 1, 'not before the first has ended');
  lists[0]?.answer.resolve({ items: [] });
  assert.deepEqual(await first, []);
  assert.equal(await listed(2), 2);
  const third = live.in('ns', never);
  assert.equal(await listed(3), 2, 'the second is under way');
  const pod = { metadata: { name: 'p' } } as Pod;
  lists[1]?.answer.resolve({ items: [pod] });
  assert.deepEqual(await second, [pod]);
  assert.equal(await listed(3), 3);
  lists[2]?.answer.resolve({ items: [] });
  await third;
});

test('namespaces do not wait for one another, and a list that failed holds up nobody', async () => {
  const { live, lists, listed } = world();
  const failing = live.in('ns', never);
  const other = live.in('other', never);
  assert.equal(await listed(2), 2);
  assert.deepEqual(
    lists.map(({ namespace }) => namespace),
    ['ns', 'other'],
  );
  const next = live.in('ns', never);
  lists[0]?.answer.reject(new Error('refused'));
  await assert.rejects(failing, /refused/);
  assert.equal(await listed(3), 3);
  lists[1]?.answer.resolve({ items: [] });
  lists[2]?.answer.resolve({ items: [] });
  assert.deepEqual(await Promise.all([other, next]), [[], []]);
});
