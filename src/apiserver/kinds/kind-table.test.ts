// What clients see of each built-in kind: its names, subresources, scope and write rules, as Kubernetes has them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind } from '../kind.ts';
import { builtinKinds } from './index.ts';

const ALL_VERBS = 8;

function traits(kind: Kind): string {
  const { needsVersion, createdByUpdate, answersDeleted } = kind.writes;
  return [
    kind.namespaced ? 'namespaced' : 'cluster',
    kind.hasGeneration && 'generation',
    kind.startsWithoutGeneration && 'starts without',
    kind.virtual && 'virtual',
    needsVersion && 'needs version',
    createdByUpdate && 'created by update',
    answersDeleted && 'answers deleted',
    kind.storedAs && 'stored as another',
    kind.verbs.length < ALL_VERBS && kind.verbs.join('+'),
  ]
    .filter(Boolean)
    .join(', ');
}

const table: [name: string, shortNames: string, subresources: string, traits: string][] = [
  ['configmaps.v1', 'cm', '', 'namespaced'],
  ['events.v1', 'ev', '', 'namespaced, created by update'],
  [
    'namespaces.v1',
    'ns',
    'status finalize',
    'cluster, answers deleted, create+delete+get+list+patch+update+watch',
  ],
  ['nodes.v1', 'no', 'proxy status', 'cluster'],
  ['persistentvolumeclaims.v1', 'pvc', 'status', 'namespaced, answers deleted'],
  ['persistentvolumes.v1', 'pv', 'status', 'cluster, answers deleted'],
  [
    'pods.v1',
    'po',
    'attach binding ephemeralcontainers eviction exec log portforward resize status',
    'namespaced, generation, answers deleted',
  ],
  ['resourcequotas.v1', 'quota', 'status', 'namespaced, answers deleted'],
  ['secrets.v1', '', '', 'namespaced'],
  ['serviceaccounts.v1', 'sa', 'token', 'namespaced, answers deleted'],
  ['services.v1', 'svc', 'status', 'namespaced, created by update, answers deleted'],
  ['endpoints.v1', 'ep', '', 'namespaced, created by update'],
  ['endpointslices.v1.discovery.k8s.io', '', '', 'namespaced, generation'],
  ['controllerrevisions.v1.apps', '', '', 'namespaced'],
  ['daemonsets.v1.apps', 'ds', 'status', 'namespaced, generation'],
  ['deployments.v1.apps', 'deploy', 'scale status', 'namespaced, generation'],
  ['replicasets.v1.apps', 'rs', 'scale status', 'namespaced, generation'],
  ['statefulsets.v1.apps', 'sts', 'scale status', 'namespaced, generation'],
  ['events.v1.events.k8s.io', 'ev', '', 'namespaced, created by update, stored as another'],
  ['selfsubjectreviews.v1.authentication.k8s.io', '', '', 'cluster, virtual, create'],
  ['tokenreviews.v1.authentication.k8s.io', '', '', 'cluster, virtual, create'],
  ['localsubjectaccessreviews.v1.authorization.k8s.io', '', '', 'namespaced, virtual, create'],
  ['selfsubjectaccessreviews.v1.authorization.k8s.io', '', '', 'cluster, virtual, create'],
  ['selfsubjectrulesreviews.v1.authorization.k8s.io', '', '', 'cluster, virtual, create'],
  ['subjectaccessreviews.v1.authorization.k8s.io', '', '', 'cluster, virtual, create'],
  ['podsecuritypolicies.v1beta1.policy', 'psp', '', 'cluster'],
  ['clusterrolebindings.v1.rbac.authorization.k8s.io', '', '', 'cluster, created by update'],
  ['clusterroles.v1.rbac.authorization.k8s.io', '', '', 'cluster, created by update'],
  ['rolebindings.v1.rbac.authorization.k8s.io', '', '', 'namespaced, created by update'],
  ['roles.v1.rbac.authorization.k8s.io', '', '', 'namespaced, created by update'],
  [
    'csidrivers.v1.storage.k8s.io',
    '',
    '',
    'cluster, generation, starts without, needs version, answers deleted',
  ],
  ['csinodes.v1.storage.k8s.io', '', '', 'cluster, needs version, answers deleted'],
  ['csistoragecapacities.v1.storage.k8s.io', '', '', 'namespaced, needs version'],
  ['storageclasses.v1.storage.k8s.io', 'sc', '', 'cluster, answers deleted'],
  ['volumeattachments.v1.storage.k8s.io', '', 'status', 'cluster, needs version, answers deleted'],
  ['volumeattributesclasses.v1.storage.k8s.io', 'vac', '', 'cluster, answers deleted'],
  ['priorityclasses.v1.scheduling.k8s.io', 'pc', '', 'cluster'],
  ['runtimeclasses.v1.node.k8s.io', '', '', 'cluster, needs version, created by update'],
  ['networkpolicies.v1.networking.k8s.io', 'netpol', '', 'namespaced, generation'],
  ['poddisruptionbudgets.v1.policy', 'pdb', 'status', 'namespaced, generation, needs version'],
  ['leases.v1.coordination.k8s.io', '', '', 'namespaced, needs version, created by update'],
  [
    'customresourcedefinitions.v1.apiextensions.k8s.io',
    'crd crds',
    'status',
    'cluster, generation, needs version',
  ],
];
for (const [name, shortNames, subresources, expected] of table) {
  test(`the kind ${name}`, () => {
    const nameOf = ({ plural, version, group }: Kind) => [plural, version, group].filter(Boolean).join('.');
    const kind = builtinKinds.find((each) => nameOf(each) === name);
    assert.ok(kind);
    assert.equal(kind.shortNames.join(' '), shortNames);
    assert.equal(kind.subresources.join(' '), subresources);
    assert.equal(traits(kind), expected);
  });
}
test('there are no other kinds', () => assert.equal(builtinKinds.length, table.length));
