// Binds a role that does not exist, and waits for someone to create it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterRoleBinding, RoleBinding } from '../../src/api/kinds.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../src/api/kinds.ts';
import type { User } from '../../src/apiserver/pipeline.ts';
import { draft, testServer } from '../../src/apiserver/testing/test-server.ts';
import { isNotFound } from '../../src/runtime/kube/kube-error.ts';

const GROUP = 'rbac.authorization.k8s.io';
const ATTACKER: User = { name: 'attacker', groups: ['system:authenticated'] };

async function binder(t: Parameters<typeof testServer>[0], verbs: readonly string[]) {
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  const resources = verbs.includes('bind') ? ['roles', 'clusterroles'] : [];
  await admin.create(
    clusterRoles,
    draft({
      metadata: { name: 'binder' },
      rules: [
        { apiGroups: [GROUP], resources: ['rolebindings', 'clusterrolebindings'], verbs: ['create'] },
        ...(resources.length > 0 ? [{ apiGroups: [GROUP], resources, verbs: ['bind'] }] : []),
      ],
    }),
  );
  const subjects = [{ kind: 'User', apiGroup: GROUP, name: ATTACKER.name }];
  const roleRef = { apiGroup: GROUP, kind: 'ClusterRole', name: 'binder' };
  await admin.create(
    clusterRoleBindings,
    draft<ClusterRoleBinding>({ metadata: { name: 'binder' }, roleRef, subjects }),
  );
  return { admin, attacker: server.client(ATTACKER), subjects };
}

for (const kind of ['Role', 'ClusterRole']) {
  test(`[DOOR-5] a ${kind} that does not exist cannot be bound without the right to bind it`, async (t) => {
    const { admin, attacker, subjects } = await binder(t, []);
    const binding = {
      metadata: { namespace: 'default', name: 'wait' },
      roleRef: { apiGroup: GROUP, kind, name: 'later' },
      subjects,
    };
    await assert.rejects(attacker.create(roleBindings, draft<RoleBinding>(binding)), isNotFound);
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
    const role = { metadata: { name: 'later' }, rules };
    if (kind === 'ClusterRole') await admin.create(clusterRoles, draft(role));
    else await admin.create(roles, draft({ ...role, metadata: { namespace: 'default', name: 'later' } }));
    await assert.rejects(attacker.create(roleBindings, draft<RoleBinding>(binding)), /not currently held/);
  });
}

test('[DOOR-5] a ClusterRole that does not exist cannot be bound for the whole cluster', async (t) => {
  const { attacker, subjects } = await binder(t, []);
  const roleRef = { apiGroup: GROUP, kind: 'ClusterRole', name: 'later' };
  const binding = draft<ClusterRoleBinding>({ metadata: { name: 'wait' }, roleRef, subjects });
  await assert.rejects(attacker.create(clusterRoleBindings, binding), isNotFound);
});

test('[DOOR-5] who may bind a role may bind it before it exists', async (t) => {
  const { attacker, subjects } = await binder(t, ['bind']);
  const roleRef = { apiGroup: GROUP, kind: 'ClusterRole', name: 'later' };
  await attacker.create(
    roleBindings,
    draft<RoleBinding>({ metadata: { namespace: 'default', name: 'early' }, roleRef, subjects }),
  );
});
