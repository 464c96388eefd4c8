import assert from 'node:assert/strict';
import { beforeEach, suite, test } from 'node:test';
import { type ClusterRole, clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../api/kinds.ts';
import { createMemoryReader, type MemoryReader } from '../testing/memory-reader.ts';
import { createBindingIndex } from './binding-index.ts';
import { createRoleIndex, effectiveRules } from './role-index.ts';

suite('roles and their bindings', () => {
  let reader: MemoryReader;
  beforeEach(() => {
    reader = createMemoryReader();
  });

  const rule = (verb: string) => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] });
  const clusterRole = (name: string, verb: string) =>
    reader.put(clusterRoles, { metadata: { name }, rules: [rule(verb)] });
  const role = (namespace: string, name: string, verb: string) =>
    reader.put(roles, { metadata: { namespace, name }, rules: [rule(verb)] });

  test('[SEC-4] a reference names a ClusterRole, or a Role of the namespace of its binding', () => {
    clusterRole('r', 'cluster');
    role('a', 'r', 'in-a');
    role('a', 'only-a', 'in-a');
    const index = createRoleIndex(reader);
    const rows: [kind: string, name: string, namespace: string | undefined, verb: string | undefined][] = [
      ['ClusterRole', 'r', undefined, 'cluster'],
      ['ClusterRole', 'r', 'a', 'cluster'],
      ['ClusterRole', 'none', 'a', undefined],
      ['Role', 'r', 'a', 'in-a'],
      ['Role', 'r', 'b', undefined],
      ['Role', 'r', undefined, undefined],
      ['Role', 'none', 'a', undefined],
    ];
    for (const [kind, name, namespace, verb] of rows) {
      const verbs = () => index.rulesOf({ kind, name }, namespace).rules.flatMap((each) => each.verbs);
      assert.deepEqual(verbs(), verb ? [verb] : [], `${kind} ${name} of ${namespace}`);
      assert.deepEqual(verbs(), verb ? [verb] : [], 'the second time');
      assert.equal(index.has({ kind, name }, namespace), verb !== undefined);
    }
    // Nothing of another kind grants anything, whatever it is named.
    assert.deepEqual(index.rulesOf({ kind: 'Other', name: 'only-a' }, 'a').rules, []);
    assert.deepEqual(index.rulesOf({ kind: 'role', name: 'only-a' }, 'a').rules, []);
  });

  test('[SEC-4] changed, new and deleted roles count at once', () => {
    const index = createRoleIndex(reader);
    const verbs = (kind: string) =>
      index
        .rulesOf({ kind, name: 'r' }, 'a')
        .rules.flatMap((each) => each.verbs)
        .join();
    assert.deepEqual([verbs('ClusterRole'), verbs('Role')], ['', '']);
    clusterRole('r', 'one');
    role('a', 'r', 'two');
    assert.deepEqual([verbs('ClusterRole'), verbs('Role')], ['one', 'two']);
    clusterRole('r', 'three');
    role('a', 'r', 'four');
    assert.deepEqual([verbs('ClusterRole'), verbs('Role')], ['three', 'four']);
    reader.remove(clusterRoles, { name: 'r' });
    reader.remove(roles, { namespace: 'a', name: 'r' });
    assert.deepEqual([verbs('ClusterRole'), verbs('Role')], ['', '']);
  });

  const labelled = (name: string, labels: object, rest: object): ClusterRole =>
    reader.put(clusterRoles, { metadata: { name, labels: { ...labels } }, rules: [], ...rest });
  const collects = (...names: string[]) => ({
    aggregationRule: { clusterRoleSelectors: names.map((name) => ({ matchLabels: { [name]: 'yes' } })) },
  });

  test('[SEC-4] an aggregated role has the rules of all that it selects, by name, each once, and not its own', () => {
    const all = labelled('all', { x: 'yes' }, { ...collects('x', 'y'), rules: [rule('own')] });
    labelled('c', { x: 'yes' }, { rules: [rule('one'), rule('two')] });
    labelled('b', { y: 'yes' }, { rules: [rule('one'), rule('three')] });
    labelled('d', { x: 'no' }, { rules: [rule('four')] });
    // Part of it, and it of this one.
    labelled('inner', { x: 'yes' }, { ...collects('z', 'x'), rules: [rule('five')] });
    labelled('e', { z: 'yes' }, { rules: [rule('six')] });
    const verbs = (of: ClusterRole) =>
      effectiveRules(of, reader.list(clusterRoles)).flatMap((each) => each.verbs);
    assert.deepEqual(verbs(all), ['one', 'three', 'two', 'six']);
    assert.deepEqual(verbs(labelled('plain', {}, { rules: [rule('seven')] })), ['seven']);
    assert.deepEqual(verbs(labelled('empty', {}, collects())), []);
  });

  test('[SEC-4] an aggregated role follows the roles that it selects', () => {
    labelled('all', {}, collects('x'));
    const index = createRoleIndex(reader);
    const verbs = () =>
      index.rulesOf({ kind: 'ClusterRole', name: 'all' }, undefined).rules.flatMap((each) => each.verbs);
    assert.deepEqual(verbs(), []);
    labelled('part', { x: 'yes' }, { rules: [rule('one')] });
    assert.deepEqual(verbs(), ['one']);
    labelled('part', { x: 'no' }, { rules: [rule('one')] });
    assert.deepEqual(verbs(), []);
  });

  test('[SEC-4] the grants of a user: those of the cluster first, then of the namespace, by name and by group', () => {
    const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name });
    const bind = (name: string, namespace: string | undefined, ...subjects: object[]) => {
      const binding = { roleRef: roleRef(name), subjects: subjects as never };
      if (namespace) reader.put(roleBindings, { metadata: { namespace, name }, ...binding });
      else reader.put(clusterRoleBindings, { metadata: { name }, ...binding });
    };
    const jane = { kind: 'User', name: 'jane' };
    bind('cluster-user', undefined, jane);
    bind('cluster-group', undefined, { kind: 'Group', name: 'g' });
    bind('a-user', 'a', jane, jane);
    const index = createBindingIndex(reader);
    bind('a-group', 'a', { kind: 'Group', name: 'g' }, { kind: 'Group', name: 'jane' });
    bind('a-account', 'a', { kind: 'ServiceAccount', name: 'sa' });
    bind('a-other-account', 'a', { kind: 'ServiceAccount', name: 'sa', namespace: 'b' });
    bind('nobody', undefined, { kind: 'ServiceAccount', name: 'sa' }, { kind: 'Robot', name: 'jane' });
    const granted = (name: string, groups: string[], namespace?: string) =>
      [...index.grantsOf({ name, groups }, namespace)].map(
        ({ grant, subject }) => `${grant.binding} ${grant.namespace ?? '-'} ${subject}`,
      );
    const ofCluster = ['cluster-user - User "jane"', 'cluster-group - Group "g"'];
    const ofA = ['a-user a User "jane"', 'a-group a Group "g"'];
    assert.deepEqual(granted('jane', ['g'], 'a'), [...ofCluster, ...ofA]);
    assert.deepEqual(granted('jane', ['g']), ofCluster);
    assert.deepEqual(granted('jane', ['g'], 'b'), ofCluster);
    assert.deepEqual(granted('jane', []), ofCluster.slice(0, 1));
    assert.deepEqual(granted('g', ['jane'], 'a'), ['a-group a Group "jane"']);
    assert.deepEqual(granted('system:serviceaccount:a:sa', [], 'a'), [
      'a-account a User "system:serviceaccount:a:sa"',
    ]);
    assert.deepEqual(granted('system:serviceaccount:b:sa', [], 'a'), [
      'a-other-account a User "system:serviceaccount:b:sa"',
    ]);
    // One of two grants of a subject is taken away, then the other.
    bind('cluster-user', undefined);
    assert.deepEqual(granted('jane', ['g'], 'a'), [...ofCluster.slice(1), ...ofA]);
    reader.remove(roleBindings, { namespace: 'a', name: 'a-group' });
    assert.deepEqual(granted('jane', ['g'], 'a'), [...ofCluster.slice(1), ...ofA.slice(0, 1)]);
    reader.remove(roleBindings, { namespace: 'a', name: 'a-user' });
    reader.remove(clusterRoleBindings, { name: 'cluster-group' });
    assert.deepEqual(granted('jane', ['g'], 'a'), []);
    bind('again', 'a', jane);
    bind('more', 'a', jane);
    assert.deepEqual(granted('jane', [], 'a'), ['again a User "jane"', 'more a User "jane"']);
    reader.remove(roleBindings, { namespace: 'a', name: 'again' });
    assert.deepEqual(granted('jane', [], 'a'), ['more a User "jane"']);
  });
});
