// Requests about every kind, and whether the embedded server answers them as kube-apiserver did when its answers were
// recorded (test/differ/recorded.ts). `npm run differ -- --filter 'TEXT'` shows the two answers to a case.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { Side, serverAt } from '../differ/exchange.ts';
import { digestOf, kindOf, type Recorded, recordedCases } from '../differ/recorded.ts';
import { prepare } from '../differ/servers.ts';
import { subjects } from '../differ/subjects/index.ts';

const file = new URL('./recorded-answers.json', import.meta.url);
const { answers } = JSON.parse(readFileSync(file, 'utf8')) as Recorded;

for (const subject of subjects) {
  test(`${kindOf(subject)}: answers as kube-apiserver`, async (t) => {
    const cases = recordedCases(subject);
    const recorded = answers[kindOf(subject)]?.split(' ') ?? [];
    assert.equal(recorded.length, cases.length, 'the tables have changed: npm run differ -- --record');
    const staticTokens = new Map([['t', { name: 'admin', groups: ['system:masters'] }]]);
    const server = await testServer(t, { listen: true, freezeObjects: false, staticTokens });
    const access = serverAt(String(server.url), 't');
    t.after(() => access.agent.destroy());
    await prepare(access, [subject]);
    const wrong: string[] = [];
    /** A wrong rule concerns many cases: the first ones say enough. */
    const enough = 5;
    for (const [index, { id, steps, cleanup }] of cases.entries()) {
      if (wrong.length === enough) break;
      const side = new Side(access);
      let last: Awaited<ReturnType<Side['take']>> | undefined;
      for (const step of steps) last = await side.take(step);
      if (cleanup !== undefined) await side.take(cleanup);
      assert.ok(last);
      if (recorded[index] === '-' || digestOf(last) === recorded[index]) continue;
      wrong.push(`${id}: ${last.code} ${JSON.stringify(last.body).slice(0, 200)}`);
    }
    assert.deepEqual(wrong, []);
  });
}
