import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from '../../api/object.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Subresource } from '../kind.ts';
import { builtinKinds } from '../kinds/index.ts';
import { applyPatch } from './apply-patch.ts';
import { FieldSets } from './field-sets.ts';
import { trackManagedFields } from './managed-fields.ts';

const fieldSets = new FieldSets();

const kindNamed = (name: string) => {
  const kind = builtinKinds.find((each) => each.kind === name);
  assert.ok(kind);
  return kind;
};
const configMap = (data: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'd', ...metadata },
  data,
});
const pod = (containers: object[]): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'd' },
  spec: { containers },
});

let clock = Date.parse('2026-01-01T00:00:00Z');
interface Step {
  by: string;
  force?: boolean;
  subresource?: Subresource;
}

function apply(
  current: KubeObject | undefined,
  patch: object,
  { by, force = false, subresource = '' }: Step,
): KubeObject {
  const kind = kindNamed((patch as KubeObject).kind);
  clock += 1000;
  return applyPatch({
    type: 'apply',
    patch,
    current: structuredClone(current),
    kind,
    fieldManager: by,
    force,
    subresource,
    nowMs: clock,
    fieldSets,
  });
}

function update(
  current: KubeObject | undefined,
  change: (object: Record<string, object>) => void,
  { by, subresource = '' }: Step,
): KubeObject {
  assert.ok(current);
  const next = structuredClone(current);
  change(next as never);
  clock += 1000;
  trackManagedFields({
    next,
    current,
    manager: by,
    operation: 'Update',
    kind: kindNamed(current.kind),
    subresource,
    nowMs: clock,
    fieldSets,
  });
  return next;
}

const dataOf = (object: KubeObject) => (object as unknown as { data: Record<string, string> }).data;
const ownersOf = (object: KubeObject) =>
  Object.fromEntries(
    (object.metadata.managedFields ?? []).map((entry) => [
      `${entry.manager}/${entry.operation}`,
      entry.fieldsV1,
    ]),
  );
const conflictOf = (run: () => unknown): KubeError => {
  let caught: unknown;
  assert.throws(run, (error) => {
    caught = error;
    return error instanceof KubeError && error.reason === 'Conflict' && error.code === 409;
  });
  return caught as KubeError;
};

test('apply creates, and records what it applied', () => {
  const created = apply(undefined, configMap({ a: '1' }, { labels: { app: 'x' } }), { by: 'one' });
  assert.deepEqual(created.metadata.managedFields, [
    {
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { 'f:a': {} }, 'f:metadata': { 'f:labels': { 'f:app': {} } } },
      manager: 'one',
      operation: 'Apply',
      time: '2026-01-01T00:00:01Z',
    },
  ]);
});

test('a field that is no longer applied is removed, unless another manager owns it, too', () => {
  const first = apply(undefined, configMap({ a: '1', b: '2' }), { by: 'one' });
  const second = apply(first, configMap({ b: '2' }), { by: 'two' });
  const third = apply(second, configMap({}), { by: 'one' });
  assert.deepEqual(dataOf(third), { b: '2' });
  assert.deepEqual(ownersOf(third)['two/Apply'], { 'f:data': { 'f:b': {} } });
});

test("changing another manager's field conflicts, with kube-apiserver's message; force takes ownership", () => {
  const first = apply(undefined, configMap({ a: '1' }), { by: 'one' });
  const error = conflictOf(() => apply(first, configMap({ a: '2' }), { by: 'two' }));
  assert.equal(error.message, 'Apply failed with 1 conflict: conflict with "one": .data.a');
  assert.deepEqual(error.details.causes, [
    { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' },
  ]);
  const forced = apply(first, configMap({ a: '2' }), { by: 'two', force: true });
  assert.deepEqual(dataOf(forced), { a: '2' });
  assert.deepEqual(Object.keys(ownersOf(forced)), ['two/Apply']);
});

test('all conflicts are listed, those with Update managers with version and time', () => {
  const first = apply(undefined, configMap({ a: '1', b: '1' }), { by: 'one' });
  const second = update(first, (object) => Object.assign(object.data ?? {}, { b: '2' }), {
    by: 'kubectl-edit',
  });
  const [entry] = second.metadata.managedFields?.filter((each) => each.operation === 'Update') ?? [];
  const error = conflictOf(() => apply(second, configMap({ a: '9', b: '9' }), { by: 'two' }));
  assert.equal(
    error.message,
    `Apply failed with 2 conflicts: conflicts with "kubectl-edit" using v1 at ${entry?.time}:\n- .data.b\nconflicts with "one":\n- .data.a`,
  );
});

test('the same value is shared by its managers, without conflict', () => {
  const first = apply(undefined, configMap({ a: '1' }), { by: 'one' });
  const second = apply(first, configMap({ a: '1' }), { by: 'two' });
  assert.deepEqual(Object.keys(ownersOf(second)), ['one/Apply', 'two/Apply']);
});

test('an update owns the fields that it changes, and no others', () => {
  const first = apply(undefined, configMap({ a: '1', b: '1' }), { by: 'one' });
  const second = update(first, (object) => Object.assign(object.data ?? {}, { a: '2' }), { by: 'other' });
  assert.deepEqual(ownersOf(second), {
    'one/Apply': { 'f:data': { 'f:b': {} } },
    'other/Update': { 'f:data': { 'f:a': {} } },
  });
  const third = update(second, (object) => Object.assign(object, { data: {} }), { by: 'other' });
  assert.deepEqual(ownersOf(third), {});
});

test('associative lists merge by key, and each element has its own managers', () => {
  const first = apply(undefined, pod([{ name: 'a', image: 'x' }]), { by: 'one' });
  const second = apply(first, pod([{ name: 'b', image: 'y', ports: [{ containerPort: 80 }] }]), {
    by: 'two',
  });
  const spec = (second as unknown as { spec: { containers: { name: string }[] } }).spec;
  assert.deepEqual(
    spec.containers.map(({ name }) => name),
    ['a', 'b'],
  );
  assert.deepEqual(ownersOf(second)['two/Apply'], {
    'f:spec': {
      'f:containers': {
        'k:{"name":"b"}': {
          '.': {},
          'f:image': {},
          'f:name': {},
          'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
        },
      },
    },
  });
  const error = conflictOf(() => apply(second, pod([{ name: 'a', image: 'z' }]), { by: 'two' }));
  assert.match(error.message, /\.spec\.containers\[name="a"\]\.image$/);
  const third = apply(second, pod([{ name: 'a', image: 'x' }]), { by: 'two' });
  assert.deepEqual(
    (third as unknown as typeof second & { spec: typeof spec }).spec.containers.map(({ name }) => name),
    ['a'],
  );
});

test('atomic structures are one field; sets are owned by value', () => {
  const claim = (selector: object, finalizers: string[]): object => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c', namespace: 'd', finalizers },
    spec: { selector },
  });
  const first = apply(undefined, claim({ matchLabels: { a: '1' } }, ['x.io/a']), { by: 'one' });
  const fields = ownersOf(first)['one/Apply'];
  assert.deepEqual(fields, {
    'f:metadata': { 'f:finalizers': { 'v:"x.io/a"': {} } },
    'f:spec': { 'f:selector': {} },
  });
  const second = apply(first, claim({ matchLabels: { a: '1' } }, ['x.io/b']), { by: 'two' });
  assert.deepEqual(second.metadata.finalizers, ['x.io/a', 'x.io/b']);
  const third = apply(second, claim({ matchLabels: { a: '1' } }, []), { by: 'one' });
  assert.deepEqual(third.metadata.finalizers, ['x.io/b']);
});

test('status is owned through its subresource', () => {
  const first = apply(undefined, pod([{ name: 'a', image: 'x' }]), { by: 'one' });
  const second = update(first, (object) => Object.assign(object, { status: { phase: 'Running' } }), {
    by: 'kubelet',
    subresource: 'status',
  });
  const entry = second.metadata.managedFields?.find((each) => each.manager === 'kubelet');
  assert.equal(entry?.subresource, 'status');
  assert.deepEqual(entry?.fieldsV1, { 'f:status': { '.': {}, 'f:phase': {} } });
  const third = update(second, (object) => Object.assign(object, { status: { phase: 'Failed' } }), {
    by: 'someone',
  });
  assert.equal(
    third.metadata.managedFields?.some((each) => each.manager === 'someone'),
    false,
  );
});

test('applying the same again is a no-op, including timestamps', () => {
  const first = apply(undefined, configMap({ a: '1' }), { by: 'one' });
  assert.deepEqual(apply(first, configMap({ a: '1' }), { by: 'one' }), first);
});

test('a client can reset managedFields, and many managers are merged into one', () => {
  let object = apply(undefined, configMap({}), { by: 'one' });
  for (let index = 0; index < 15; index++) {
    object = update(object, (each) => Object.assign(each.data ?? {}, { [`k${index}`]: 'v' }), {
      by: `writer-${index}`,
    });
  }
  const updates = object.metadata.managedFields?.filter((each) => each.operation === 'Update') ?? [];
  assert.equal(updates.length, 10);
  assert.ok(updates.some((each) => each.manager === 'ancient-changes'));
  const reset = update(object, (each) => Object.assign(each.metadata ?? {}, { managedFields: [{}] }), {
    by: 'admin',
  });
  assert.equal(reset.metadata.managedFields, undefined);
});

test('an apply patch that names another kind, or ownership, is refused', () => {
  const refused = (patch: object): void =>
    assert.throws(
      () =>
        applyPatch({
          type: 'apply',
          patch,
          current: undefined,
          kind: kindNamed('ConfigMap'),
          fieldManager: 'x',
          force: false,
          subresource: '',
          nowMs: 0,
          fieldSets,
        }),
      (error) => error instanceof KubeError && error.code === 400,
    );
  refused({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } });
  refused(configMap({}, { managedFields: [{ manager: 'me' }] }));
});

test("for any two appliers: each one's last configuration is in effect, and each removes only its own fields", () => {
  const data = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('1', '2'), {
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(data, data, (mine, theirs) => {
      const first = apply(undefined, configMap(mine), { by: 'one' });
      const second = apply(first, configMap(theirs), { by: 'two', force: true });
      assert.deepEqual(dataOf(second), { ...mine, ...theirs });
      assert.deepEqual(apply(second, configMap(theirs), { by: 'two' }), second);
      const third = apply(second, configMap({}), { by: 'one' });
      assert.deepEqual(dataOf(third) ?? {}, theirs);
    }),
  );
});
