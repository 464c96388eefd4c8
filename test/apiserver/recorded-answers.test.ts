// Requests about every kind, and whether the embedded server answers them as kube-apiserver did when its answers were
// recorded (test/differ/recorded.ts). `npm run differ -- --filter 'TEXT'` shows the two answers to a case.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { type Answer, Side, serverAt } from '../differ/exchange.ts';
import { digestOf, kindOf, type Recorded, recordedCases, recordedSequence } from '../differ/recorded.ts';
import { prepare } from '../differ/servers.ts';
import { subjects } from '../differ/subjects/index.ts';
import type { Subject } from '../differ/subjects/subject.ts';

const file = new URL('./recorded-answers.json', import.meta.url);
const { answers, sequences } = JSON.parse(readFileSync(file, 'utf8')) as Recorded;

/** A wrong rule concerns many cases: the first ones say enough. */
const ENOUGH = 5;

async function serve(t: TestContext, needed: readonly Subject[]) {
  const staticTokens = new Map([['t', { name: 'admin', groups: ['system:masters'] }]]);
  const server = await testServer(t, { listen: true, freezeObjects: false, staticTokens });
  const access = serverAt(String(server.url), 't');
  t.after(() => access.agent.destroy());
  await prepare(access, needed);
  return access;
}

const shown = (id: string, { code, body }: Answer): string =>
  `${id}: ${code} ${JSON.stringify(body).slice(0, 200)}`;

for (const subject of subjects) {
  test(`${kindOf(subject)}: answers as kube-apiserver`, async (t) => {
    const cases = recordedCases(subject);
    const recorded = answers[kindOf(subject)]?.split(' ') ?? [];
    assert.equal(recorded.length, cases.length, 'the tables have changed: npm run differ -- --record');
    const access = await serve(t, [subject]);
    const wrong: string[] = [];
    for (const [index, { id, steps, cleanup }] of cases.entries()) {
      if (wrong.length === ENOUGH) break;
      const side = new Side(access);
      let last: Answer | undefined;
      for (const step of steps) last = await side.take(step);
      if (cleanup !== undefined) await side.take(cleanup);
      assert.ok(last);
      if (recorded[index] !== '-' && digestOf(last) !== recorded[index]) wrong.push(shown(id, last));
    }
    assert.deepEqual(wrong, []);
  });
}

const IN_ONE_TEST = 10;
for (let first = 1; first <= sequences.length; first += IN_ONE_TEST) {
  test(`random sequences ${first} to ${first + IN_ONE_TEST - 1}: answers as kube-apiserver`, async (t) => {
    const access = await serve(t, []);
    const wrong: string[] = [];
    for (const [index, recorded] of sequences.slice(first - 1, first - 1 + IN_ONE_TEST).entries()) {
      const { id, steps } = recordedSequence(first + index);
      const side = new Side(access);
      for (const [at, digest] of recorded.split(' ').filter(Boolean).entries()) {
        const step = steps[at];
        assert.ok(step, 'the tables have changed: npm run differ -- --record');
        const answer = await side.take(step);
        if (digestOf(answer) === digest) continue;
        wrong.push(shown(`${id}, step ${at + 1}`, answer));
        break;
      }
    }
    assert.deepEqual(wrong, []);
  });
}
