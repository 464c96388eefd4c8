import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../api/object.ts';
import { parseCondition } from './wait.ts';

const object = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'x', annotations: { 'a.b/c': 'yes' } },
  spec: { modes: ['one', 'two'] },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Held', status: 'False' },
    ],
  },
} as unknown as KubeObject;

test('what --for asks', () => {
  const table: [string, boolean, boolean][] = [
    ['delete', false, true],
    ['create', true, false],
    ['condition=Ready', true, false],
    ['condition=ready=true', true, false],
    ['condition=Held', false, false],
    ['condition=Held=False', true, false],
    ['jsonpath={.status.phase}=Running', true, false],
    ["jsonpath='{.status.phase}'=Running", true, false],
    ['jsonpath={.status.phase}=Pending', false, false],
    ['jsonpath={.status.phase}', true, false],
    ['jsonpath={.status.other}', false, false],
    ['jsonpath={.spec.modes[1]}=two', true, false],
    ['jsonpath={.metadata.annotations.a\\.b/c}=yes', true, false],
  ];
  for (const [text, whenThere, whenGone] of table) {
    assert.equal(parseCondition(text)(object), whenThere, text);
    assert.equal(parseCondition(text)(undefined), whenGone, `${text}, gone`);
  }
});
