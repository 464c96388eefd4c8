import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HIGHEST_USER_PRIORITY, SYSTEM_PRIORITIES } from '../bootstrap/priority-classes.ts';
import {
  validatePriorityClass,
  validatePriorityClassUpdate,
  validateRuntimeClass,
  validateRuntimeClassUpdate,
} from './pod-classes.ts';
import { changedFields, rows } from './testing/rows.ts';

const system = 'system-node-critical';
const reserved = SYSTEM_PRIORITIES[system];
rows(validatePriorityClass, {}, [
  ['a priority', { value: HIGHEST_USER_PRIORITY, preemptionPolicy: 'Never' }, []],
  ['a priority without a value', {}, []],
  [
    'a priority above all of users',
    { value: HIGHEST_USER_PRIORITY + 1 },
    ['value: Forbidden: maximum allowed value'],
  ],
  ['a policy that does not exist', { preemptionPolicy: 'Maybe' }, ['preemptionPolicy: Unsupported value']],
  ['a priority of the system', { metadata: { name: system }, value: reserved }, []],
  [
    'a priority of the system with another value',
    { metadata: { name: system }, value: 5 },
    [
      `metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: its value must be ${reserved}`,
    ],
  ],
  [
    'a priority that calls itself of the system',
    { metadata: { name: 'system-mine' }, value: 5 },
    [
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: the name is not",
    ],
  ],
]);

rows(validateRuntimeClass, { handler: 'runc' }, [
  ['a runtime', { overhead: { podFixed: { cpu: '10m' } } }, []],
  ['a runtime without a handler', { handler: '' }, ['handler: Required value']],
  ['a runtime with a handler that is none', { handler: 'Run C' }, ['handler: Invalid value']],
  [
    'a runtime with an overhead that is none',
    { overhead: { podFixed: { cpu: 'x' } } },
    ['overhead.limits[cpu]: Invalid'],
  ],
]);

test('the fields of PriorityClass and RuntimeClass that admission uses are immutable', () => {
  assert.deepEqual(changedFields(validatePriorityClassUpdate, { value: 0 }, { description: 'd' }), []);
  assert.deepEqual(changedFields(validatePriorityClassUpdate, { value: 1 }, {}), ['value']);
  assert.deepEqual(changedFields(validatePriorityClassUpdate, {}, { preemptionPolicy: 'Never' }), [
    'preemptionPolicy',
  ]);
  assert.deepEqual(changedFields(validateRuntimeClassUpdate, { handler: 'a' }, { handler: 'a' }), []);
  assert.deepEqual(changedFields(validateRuntimeClassUpdate, { handler: 'a' }, { handler: 'b' }), [
    'handler',
  ]);
});
