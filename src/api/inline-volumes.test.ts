import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inlineMode } from './inline-volumes.ts';
import type { CSIDriver } from './kinds.ts';

const driver = (spec: CSIDriver['spec']): CSIDriver => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIDriver',
  metadata: { name: 'd', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec,
});

test('the mode of an inline volume: what the pod asks for, as far as the driver declares it', () => {
  const handle = { volumeHandle: 'h' };
  const table: [CSIDriver['spec'], { volumeHandle?: string }, 'Ephemeral' | 'Persistent' | 'refused'][] = [
    [{}, {}, 'refused'],
    [{}, handle, 'Persistent'],
    [{ volumeLifecycleModes: [] }, handle, 'Persistent'],
    [{ volumeLifecycleModes: ['Persistent'] }, {}, 'refused'],
    [{ volumeLifecycleModes: ['Ephemeral'] }, {}, 'Ephemeral'],
    [{ volumeLifecycleModes: ['Ephemeral'] }, handle, 'Ephemeral'],
    [{ volumeLifecycleModes: ['Persistent', 'Ephemeral'] }, {}, 'Ephemeral'],
    [{ volumeLifecycleModes: ['Persistent', 'Ephemeral'] }, handle, 'Persistent'],
    [{ volumeLifecycleModes: ['Unheard'] }, handle, 'refused'],
    [{ lifecycle: 'ephemeral' }, {}, 'Ephemeral'],
    [{ lifecycle: 'ephemeral' }, handle, 'Ephemeral'],
    [{ lifecycle: 'persistent' }, handle, 'Persistent'],
  ];
  for (const [spec, source, expected] of table) {
    const mode = inlineMode({ driver: 'd', ...source }, driver(spec));
    const found = typeof mode === 'object' ? 'refused' : mode;
    assert.equal(found, expected, `${JSON.stringify(spec)} ${JSON.stringify(source)}`);
    if (typeof mode === 'object') assert.match(mode.problem, /driver d/);
  }
});

test('[INL-3] an ephemeral volume of a driver without a CSIDriver object: the error does not speak of one as if it existed', () => {
  const mode = inlineMode({ driver: 'd' }, undefined);
  assert(typeof mode === 'object');
  assert.match(mode.problem, /no CSIDriver object d declares/);
  assert.equal(inlineMode({ driver: 'd', volumeHandle: 'h' }, undefined), 'Persistent');
});
