import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigMap, configMaps } from '../../api/kinds.ts';
import type { Informer, InformerHandler } from './informer.ts';
import { ReadYourWrites } from './read-your-writes.ts';

const map = (version: number, value: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'm',
    namespace: 'n',
    uid: 'u',
    resourceVersion: String(version),
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  data: { value },
});

/** A cache that the test moves by hand. */
function start(cached?: ConfigMap) {
  let object = cached;
  let handler: InformerHandler<ConfigMap> = {};
  const informer = {
    resource: configMaps,
    get: () => object,
    subscribe(given: InformerHandler<ConfigMap>) {
      handler = given;
      return () => {};
    },
  } as unknown as Informer<ConfigMap>;
  const latest = new ReadYourWrites(informer);
  return {
    latest,
    seen(next: ConfigMap) {
      const before = object;
      object = next;
      if (before) handler.updated?.(before, next);
      else handler.added?.(next);
    },
    deleted() {
      const last = object;
      object = undefined;
      if (last) handler.deleted?.(last);
    },
  };
}

const value = (latest: ReadYourWrites<ConfigMap>) => latest.get('n/m')?.data?.value;

test('what was written is read at once, until the cache has it or something newer', () => {
  const { latest, seen } = start(map(1, 'old'));
  assert.equal(value(latest), 'old');
  latest.wrote(map(3, 'mine'));
  assert.equal(value(latest), 'mine');
  seen(map(2, 'between'));
  assert.equal(value(latest), 'mine');
  seen(map(3, 'mine'));
  seen(map(4, 'theirs'));
  assert.equal(value(latest), 'theirs');
});

test('a response that is older than the watch is dropped', () => {
  const { latest, seen } = start(map(1, 'old'));
  seen(map(5, 'newer'));
  latest.wrote(map(3, 'mine'));
  assert.equal(value(latest), 'newer');
});

test('a deleted object does not reappear because of a write', () => {
  const { latest, deleted } = start(map(1, 'old'));
  latest.wrote(map(3, 'mine'));
  deleted();
  assert.equal(latest.get('n/m'), undefined);
  latest.wrote(map(4, 'late'));
  assert.equal(latest.get('n/m'), undefined);
});
