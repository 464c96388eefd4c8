import assert from 'node:assert/strict';
import { test } from 'node:test';
import { multiAttachMessage } from './multi-attach-message.ts';

test('who keeps a volume from a pod, without names from other namespaces', () => {
  const table: [string[], string][] = [
    [[], "is already exclusively attached to one node and can't be attached to another"],
    [['a/x'], 'is already used by pod(s) x'],
    [['a/x', 'a/y', 'b/z'], 'is already used by pod(s) x, y and 1 pod(s) in different namespaces'],
    [['b/z', 'c/z'], 'is already used by 2 pod(s) in different namespaces'],
    [['ab/z'], 'is already used by 1 pod(s) in different namespaces'],
  ];
  for (const [otherPods, end] of table) {
    assert.equal(
      multiAttachMessage({ shownAs: 'pv', namespace: 'a', otherPods }),
      `Multi-Attach error for volume "pv" Volume ${end}`,
    );
  }
});
