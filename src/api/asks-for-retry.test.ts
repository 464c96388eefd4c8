import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksForRetry } from './asks-for-retry.ts';
import type { KubeObject } from './object.ts';
import { ANN_RETRY } from './well-known.ts';

const object = (retry: string | undefined, uid = 'u'): KubeObject =>
  ({
    metadata: { uid, annotations: { other: 'x', ...(retry !== undefined && { [ANN_RETRY]: retry }) } },
  }) as never;

const cases: [name: string, before: KubeObject, after: KubeObject, isAsked: boolean][] = [
  ['it comes', object(undefined), object('1'), true],
  ['it changes', object('1'), object('2'), true],
  ['it stays', object('1'), object('1'), false],
  ['it goes', object('1'), object(undefined), false],
  ['it comes with another object', object(undefined), object('1', 'v'), false],
];
for (const [name, before, after, isAsked] of cases) {
  test(`whether a retry is asked for: ${name}`, () => assert.equal(asksForRetry(before, after), isAsked));
}
