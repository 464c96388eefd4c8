// Lists over a real connection, in one chunk and in several.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { realClock } from '../../runtime/time/clock.ts';
import type { Kind } from '../kind.ts';
import type { Version } from '../storage/version.ts';
import { oneRequest } from '../testing/one-request.ts';
import { answerList } from './answer-resource.ts';
import { FairQueue } from './fair-queue.ts';
import type { ResourceExchange } from './handle-resource.ts';
import type { MediaChoice } from './negotiation.ts';

const kind = { kind: 'Pod', group: '', version: 'v1' } as Kind;
const item = (index: number, length: number) =>
  ({ bytes: Buffer.from(JSON.stringify({ index, text: 'x'.repeat(length) })) }) as Version;

async function exchangeOf(t: TestContext) {
  const { response, client } = await oneRequest(t);
  const exchange = {
    response,
    machine: { clock: realClock },
    fair: new FairQueue(realClock),
    client: 'c',
    pretty: false,
    info: { query: new URLSearchParams() },
  } as unknown as ResourceExchange;
  return { exchange, client };
}

function answer(exchange: ResourceExchange, items: Version[], media: object = { format: 'json' }) {
  return answerList(exchange, {
    kind,
    media: media as MediaChoice,
    *find() {
      yield;
      return { items, metadata: { resourceVersion: '5' } };
    },
  });
}

const sizes: [what: string, count: number, length: number][] = [
  ['no items', 0, 0],
  ['a few items', 3, 10],
  ['one chunk', 10, 10_000],
  ['several chunks', 60, 10_000],
  ['items larger than a chunk', 3, 300_000],
];
for (const [what, count, length] of sizes) {
  test(`a list of ${what} arrives whole, each item once`, async (t) => {
    const { exchange, client } = await exchangeOf(t);
    const received = once(client, 'response').then(async ([message]: IncomingMessage[]) => {
      assert.equal(message?.statusCode, 200);
      assert.equal(message.headers['content-type'], 'application/json');
      let text = '';
      for await (const chunk of message) text += chunk;
      return JSON.parse(text);
    });
    await answer(
      exchange,
      Array.from({ length: count }, (_, index) => item(index, length)),
    );
    const { items, ...rest } = await received;
    assert.deepEqual(rest, { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '5' } });
    assert.deepEqual(
      items.map(({ index, text }: { index: number; text: string }) => [index, text.length]),
      Array.from({ length: count }, (_, index) => [index, length]),
    );
  });
}

const refusals: [what: string, media: object, items: Version[], problem: RegExp][] = [
  [
    'as one object',
    { format: 'json', as: 'PartialObjectMetadata' },
    [],
    /but the requested object is a list/,
  ],
  ['as YAML that is too large', { format: 'yaml' }, [item(0, 4_000_000), item(1, 1)], /3145728/],
];
for (const [what, media, items, problem] of refusals) {
  test(`a list is not answered ${what}`, async (t) => {
    const { exchange } = await exchangeOf(t);
    await assert.rejects(
      answer(exchange, items, media),
      (error) => error instanceof KubeError && error.code === 406 && problem.test(error.message),
    );
    assert.equal(exchange.response.headersSent, false);
  });
}

test('nothing is written to a client that left while its list was found', async (t) => {
  const { exchange, client } = await exchangeOf(t);
  client.destroy();
  await once(exchange.response, 'close');
  await answer(exchange, [item(0, 200_000), item(1, 1)]);
  assert.equal(exchange.response.headersSent, false);
});
