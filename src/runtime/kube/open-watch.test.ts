// Watches over a real socket: every way to cut the bytes, every way to end.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import fc from 'fast-check';
import { nodes } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { realClock } from '../time/clock.ts';
import type { WatchEvent, WatchOptions } from './kube.ts';
import { isExpired, type KubeError } from './kube-error.ts';
import { clientFor } from './testing/client-for.ts';
import { failure, json, startRecordingServer } from './testing/recording-server.ts';
import { LineSplitter, parseWatchLine } from './watch-stream.ts';

const added = (name: string, more: object = {}) =>
  `${JSON.stringify({ type: 'ADDED', object: { metadata: { name, uid: name, resourceVersion: '5' }, ...more } })}\n`;

async function collect(
  answer: (response: ServerResponse) => void,
  options: WatchOptions = {},
): Promise<{
  events: WatchEvent<KubeObject>[];
  error: KubeError | undefined;
  query: Record<string, string>;
}> {
  await using server = await startRecordingServer((_, response) => answer(response));
  await using kube = clientFor({ server: server.url });
  const events: WatchEvent<KubeObject>[] = [];
  let error: KubeError | undefined;
  try {
    for await (const event of kube.watch<KubeObject>(nodes, options)) events.push(event);
  } catch (thrown) {
    error = thrown as KubeError;
  }
  return { events, error, query: server.asked[0]?.query ?? {} };
}

const lines =
  (...text: string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(text.join(''));
  };

const endless = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'text/plain' });
  const piece = 'x'.repeat(64 << 10);
  const pour = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', pour);
  pour();
};

test('an endless line is not an event, and an endless error body is still an error', async () => {
  const line = await collect(endless(200));
  assert.match(String(line.error?.message), /sent a line of 3\d{7} bytes that is not a watch event/);
  const refusal = await collect(endless(403));
  assert.deepEqual([refusal.error?.reason, refusal.error?.code], ['Forbidden', 403]);
});

test('events get their type, bookmarks their meaning, and a proper end is no error', async () => {
  const bookmark = (annotations?: object) =>
    `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9', annotations } } })}\n`;
  const { events, error } = await collect(
    lines(added('a'), '\n', bookmark(), bookmark({ 'k8s.io/initial-events-end': 'true' })),
  );
  assert.equal(error, undefined);
  assert.deepEqual(events, [
    {
      type: 'ADDED',
      object: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', uid: 'a', resourceVersion: '5' } },
    },
    { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: false },
    { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: true },
  ]);
});

test('options become the query; a watch always has an end', async () => {
  const one = await collect(lines(), {
    resourceVersion: '7',
    allowBookmarks: true,
    labelSelector: 'a=b',
    timeoutSeconds: 3600,
  });
  assert.deepEqual(one.query, {
    watch: 'true',
    resourceVersion: '7',
    allowWatchBookmarks: 'true',
    labelSelector: 'a=b',
    timeoutSeconds: '3600',
  });
  const { timeoutSeconds, ...rest } = (await collect(lines(), { sendInitialEvents: true })).query;
  assert.deepEqual(rest, {
    watch: 'true',
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
  });
  assert.ok(Number(timeoutSeconds) >= 300 && Number(timeoutSeconds) < 600);
});

const endings: {
  name: string;
  answer: (response: ServerResponse) => void;
  reason: string;
  says: RegExp;
  events: number;
  timeoutSeconds?: number;
}[] = [
  {
    name: 'half a line, then a proper end',
    answer: lines(added('a'), added('b').slice(0, 20)),
    reason: 'Unreachable',
    says: /ended in the middle of a watch event/,
    events: 1,
  },
  {
    name: 'half a line, then a broken connection',
    answer: (response) => response.write(added('a') + added('b').slice(0, 20), () => response.destroy()),
    reason: 'Unreachable',
    says: /broke off/,
    events: 1,
  },
  {
    name: 'a line that is no JSON',
    answer: lines(added('a'), '{]\n', added('b')),
    reason: 'BadAnswer',
    says: /not a watch event/,
    events: 1,
  },
  {
    name: 'a line that is no event',
    answer: lines('{"type":"ADDED"}\n'),
    reason: 'BadAnswer',
    says: /not a watch event/,
    events: 0,
  },
  {
    name: 'an ERROR event',
    answer: lines(added('a'), `${JSON.stringify({ type: 'ERROR', object: failure(410, 'Expired') })}\n`),
    reason: 'Expired',
    says: /Expired it is/,
    events: 1,
  },
  {
    name: 'a Status instead of a stream',
    answer: (response) => json(response, 410, failure(410, 'Gone')),
    reason: 'Gone',
    says: /Gone it is/,
    events: 0,
  },
  {
    name: 'HTML',
    answer: (response) => {
      response.writeHead(503, { 'content-type': 'text/html' });
      response.end('<html></html>');
    },
    reason: 'ServiceUnavailable',
    says: /an HTML page/,
    events: 0,
  },
  {
    name: 'no answer at all',
    answer: () => {},
    reason: 'Unreachable',
    says: /has been silent/,
    events: 0,
    timeoutSeconds: 60,
  },
  {
    name: 'silence for longer than the watch was to last',
    answer: (response) => {
      response.write(added('a'));
    },
    reason: 'Unreachable',
    says: /has been silent for \d+ s/,
    events: 1,
    timeoutSeconds: 600,
  },
];

for (const { name, answer, reason, says, events: count, timeoutSeconds = 60_000 } of endings) {
  test(`${name}: what came before is handed out, then ${reason}`, async () => {
    const { events, error } = await collect(answer, { timeoutSeconds });
    assert.equal(events.length, count);
    assert.equal(error?.reason, reason);
    assert.match(error?.message ?? '', says);
    assert.equal(isExpired(error), reason === 'Expired' || reason === 'Gone');
  });
}

test('a last line without newline that is whole counts', async () => {
  const { events, error } = await collect(lines(added('a').trimEnd()));
  assert.equal(error, undefined);
  assert.equal(events.length, 1);
});

test('leaving the iteration, and an abort, close the connection', async () => {
  const closed: Promise<unknown>[] = [];
  await using server = await startRecordingServer((_, response) => {
    closed.push(once(response, 'close'));
    response.write(added('a'));
  });
  await using kube = clientFor({ server: server.url });
  for await (const event of kube.watch(nodes)) {
    assert.equal(event.type, 'ADDED');
    break;
  }
  await closed[0];
  const stop = new AbortController();
  const reason = new Error('stop it');
  await assert.rejects(async () => {
    for await (const _ of kube.watch(nodes, { signal: stop.signal })) stop.abort(reason);
  }, reason);
  await closed[1];
  await assert.rejects(async () => {
    for await (const _ of kube.watch(nodes, { signal: stop.signal })) assert.fail('nothing may come');
  }, reason);
});

test('backpressure from a slow reader reaches the server, and no event is lost', async () => {
  const pad = 'x'.repeat(1 << 20);
  const total = 40;
  let sent = 0;
  await using server = await startRecordingServer(async (_, response) => {
    for (; sent < total; sent++) {
      if (!response.write(added(`n${sent}`, { pad }))) await once(response, 'drain');
    }
    response.end();
  });
  // Real time: on a busy machine the fast clock would take the slow reader for a silent server.
  await using kube = clientFor({ server: server.url }, { clock: realClock });
  let seen = 0;
  let sentAtFirst = 0;
  for await (const _ of kube.watch(nodes)) {
    if (seen++ > 0) continue;
    // Give everything that can move the time to move.
    for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve));
    sentAtFirst = sent;
  }
  assert.equal(seen, total);
  assert.ok(sentAtFirst < total, 'the server was not held back');
});

test('lines are the same however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }), { maxLength: 20 }),
      fc.array(fc.nat(12)),
      (names, cuts) => {
        const bytes = Buffer.from(names.map((name) => added(name)).join(''));
        const splitter = new LineSplitter();
        const seen: string[] = [];
        let at = 0;
        const push = (chunk: Buffer): void => {
          splitter.push(chunk, (line) => {
            const parsed = parseWatchLine(line, { type: { apiVersion: 'v1', kind: 'Node' } });
            assert.ok(parsed.kind === 'event' && parsed.event.type === 'ADDED');
            seen.push(parsed.event.object.metadata.name);
          });
        };
        for (const cut of cuts) {
          push(bytes.subarray(at, at + cut));
          at += cut;
        }
        push(bytes.subarray(at));
        assert.deepEqual(seen, names);
        assert.equal(splitter.remainder.length, 0);
      },
    ),
  );
});
