// What a server keeps up to date by itself: the CA in every namespace, and the rules of aggregated roles.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterRoles, configMaps, namespaces } from '../../api/kinds.ts';
import type { Resource } from '../../api/object.ts';
import { KubeError, type KubeErrorReason } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { followRoleAggregation } from '../authorization/role-aggregation.ts';
import { createMemoryReader } from '../testing/memory-reader.ts';
import { publishRootCa, ROOT_CA } from './root-ca.ts';

/** A reader, and a client whose writes reach it unless they are refused. */
function world() {
  const reader = createMemoryReader();
  const refusals: KubeErrorReason[] = [];
  const writes: string[] = [];
  const write =
    (verb: string) =>
    async (resource: Resource, object: { metadata: { name: string; namespace?: string } }) => {
      writes.push(`${verb} ${object.metadata.namespace}`);
      const reason = refusals.shift();
      if (reason) throw new KubeError({ reason, code: 0, message: 'refused' });
      return reader.put(resource as typeof configMaps, object as never);
    };
  const patch = async (_resource: Resource, { name }: { name: string }, { rules }: { rules: object[] }) => {
    writes.push(`patch ${name}`);
    const reason = refusals.shift();
    if (reason) throw new KubeError({ reason, code: 0, message: 'refused' });
    const role = reader.get(clusterRoles, { name });
    return reader.put(clusterRoles, { ...role, metadata: { name }, rules } as never);
  };
  const client = { create: write('create'), update: write('update'), patch } as never;
  const log = memoryLog();
  const namespace = (name: string, metadata: object = {}) =>
    reader.put(namespaces, { metadata: { name, ...metadata } });
  return { reader, refusals, writes, client, log, namespace };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));
const name = (namespace: string) => ({ namespace, name: ROOT_CA });

test('every namespace has the CA, also one that is made later', async () => {
  const { reader, writes, client, log, namespace } = world();
  namespace('a');
  namespace('b');
  reader.put(configMaps, { metadata: name('b'), data: { 'ca.crt': 'PEM' } });
  const stop = await publishRootCa({ client, reader, caPem: 'PEM', log, isDone: false });
  assert.deepEqual(writes, ['create a'], 'where it is right it is not written');
  namespace('c');
  await settled();
  assert.equal(reader.get(configMaps, name('c'))?.data?.['ca.crt'], 'PEM');
  namespace('c', { labels: { a: 'b' } });
  await settled();
  stop();
  namespace('d');
  await settled();
  assert.deepEqual(writes, ['create a', 'create c']);
});

test('the CA is restored when it is changed or deleted, until its namespace is deleted', async () => {
  const { reader, writes, client, log, namespace } = world();
  namespace('a');
  const stop = await publishRootCa({ client, reader, caPem: 'PEM', log, isDone: false });
  reader.put(configMaps, { metadata: name('a'), data: { 'ca.crt': 'other' } });
  await settled();
  assert.equal(reader.get(configMaps, name('a'))?.data?.['ca.crt'], 'PEM');
  reader.remove(configMaps, name('a'));
  await settled();
  assert.equal(reader.get(configMaps, name('a'))?.data?.['ca.crt'], 'PEM');
  const other = { namespace: 'a', name: 'another' };
  reader.put(configMaps, { metadata: other });
  reader.remove(configMaps, other);
  namespace('a', { deletionTimestamp: '2026-01-01T00:00:00Z' });
  reader.remove(configMaps, name('a'));
  await settled();
  assert.deepEqual(writes, ['create a', 'update a', 'create a']);
  stop();
});

test('with a stored state nothing is written at the start', async () => {
  const { reader, writes, client, log, namespace } = world();
  namespace('a');
  const stop = await publishRootCa({ client, reader, caPem: 'PEM', log, isDone: true });
  assert.deepEqual(writes, []);
  stop();
});

const role = (label: string | undefined, rules: object[]) => ({
  metadata: { name: label ?? 'all', ...(label && { labels: { part: 'yes' } }) },
  rules,
  ...(!label && { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'yes' } }] } }),
});
const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };

test('an aggregated role gets the rules of its parts, and is written when they change', async () => {
  const { reader, writes, client, log } = world();
  reader.put(clusterRoles, role(undefined, []) as never);
  const stop = followRoleAggregation({ reader, client, log, isDone: false });
  await settled();
  assert.deepEqual(writes, [], 'it has no parts');
  reader.put(clusterRoles, role('part', [pods]) as never);
  await settled();
  assert.deepEqual(reader.get(clusterRoles, { name: 'all' })?.rules, [pods]);
  reader.put(clusterRoles, role('other-part', [pods]) as never);
  await settled();
  stop();
  reader.remove(clusterRoles, { name: 'part' });
  await settled();
  assert.equal(writes.filter((each) => each !== 'patch all').length, 0);
  assert.ok(writes.length >= 1);
});

test('with a stored state aggregated roles are looked at when one changes', async () => {
  const { reader, writes, client, log } = world();
  reader.put(clusterRoles, role('part', [pods]) as never);
  reader.put(clusterRoles, role(undefined, []) as never);
  const stop = followRoleAggregation({ reader, client, log, isDone: true });
  await settled();
  assert.deepEqual(writes, []);
  reader.put(clusterRoles, { metadata: { name: 'x' }, rules: [] } as never);
  await settled();
  assert.deepEqual(writes, ['patch all']);
  stop();
});

for (const [reason, isTold] of [
  ['NotFound', false],
  ['Conflict', false],
  ['AlreadyExists', false],
  ['InternalError', true],
] as const) {
  test(`a write that is answered ${reason} is ${isTold ? 'an error' : 'none'}`, async () => {
    const { reader, refusals, client, log, namespace } = world();
    namespace('a');
    refusals.push(reason);
    const stop = await publishRootCa({ client, reader, caPem: 'PEM', log, isDone: false });
    assert.equal(/could not be written/.test(log.text()), isTold);
    stop();
    if (reason === 'AlreadyExists') return;
    reader.put(clusterRoles, role('part', [pods]) as never);
    reader.put(clusterRoles, role(undefined, []) as never);
    refusals.push(reason);
    const end = followRoleAggregation({ reader, client, log, isDone: false });
    await settled();
    assert.equal(/rules of an aggregated role were not written/.test(log.text()), isTold);
    end();
  });
}
