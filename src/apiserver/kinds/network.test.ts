// What the server fills in and keeps of a Service, as rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { networkKinds } from './network.ts';

type Spec = Record<string, unknown>;
const kindNamed = (name: string) => {
  const kind = networkKinds.find((each) => each.kind === name);
  assert.ok(kind);
  return kind;
};
const service = kindNamed('Service');
const object = (spec: Spec) => ({ metadata: { name: 's' }, spec }) as unknown as KubeObject & { spec: Spec };

const always = { sessionAffinity: 'None' };
const inside = { ...always, internalTrafficPolicy: 'Cluster' };
const outside = { ...inside, externalTrafficPolicy: 'Cluster' };
const defaults: [what: string, given: Spec, then: Spec][] = [
  ['nothing', {}, { type: 'ClusterIP', ...inside }],
  ['a ClusterIP', { type: 'ClusterIP' }, { type: 'ClusterIP', ...inside }],
  ['a NodePort', { type: 'NodePort' }, { type: 'NodePort', ...outside }],
  ['a LoadBalancer', { type: 'LoadBalancer' }, { type: 'LoadBalancer', ...outside }],
  ['an ExternalName', { type: 'ExternalName' }, { type: 'ExternalName', ...always }],
  [
    'external addresses',
    { type: 'ClusterIP', externalIPs: ['1.2.3.4'] },
    { type: 'ClusterIP', externalIPs: ['1.2.3.4'], ...outside },
  ],
  [
    'an ExternalName with external addresses',
    { type: 'ExternalName', externalIPs: ['1.2.3.4'] },
    { type: 'ExternalName', externalIPs: ['1.2.3.4'], ...always },
  ],
  ['no external addresses', { externalIPs: [] }, { type: 'ClusterIP', externalIPs: [], ...inside }],
  [
    'what is given',
    { type: 'NodePort', internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' },
    { type: 'NodePort', ...always, internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' },
  ],
  [
    'session affinity',
    { sessionAffinity: 'ClientIP' },
    {
      type: 'ClusterIP',
      ...inside,
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
    },
  ],
  [
    'the time of session affinity',
    { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
    {
      type: 'ClusterIP',
      ...inside,
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
    },
  ],
  [
    'ports',
    { ports: [{ port: 80 }, { port: 53, protocol: 'UDP', targetPort: 'dns' }] },
    {
      type: 'ClusterIP',
      ...inside,
      ports: [
        { port: 80, protocol: 'TCP', targetPort: 80 },
        { port: 53, protocol: 'UDP', targetPort: 'dns' },
      ],
    },
  ],
];
for (const [what, given, then] of defaults) {
  test(`the defaults of a Service: ${what}`, () => {
    const made = object(structuredClone(given));
    service.setDefaults(made);
    assert.deepEqual(made.spec, then);
    assert.deepEqual((made as unknown as { status: unknown }).status, { loadBalancer: {} });
  });
}

const single = { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] };
const headless = { clusterIP: 'None', clusterIPs: ['None'] };
const at = (address: string) => ({ clusterIP: address, clusterIPs: [address] });
const ordinary = { type: 'ClusterIP', ...at('10.0.0.1'), ...single };
const kept: [what: string, before: Spec | undefined, given: Spec, then: Spec][] = [
  ['no address', undefined, {}, { ...single }],
  ['an address', undefined, { clusterIP: '10.0.0.1' }, { ...at('10.0.0.1'), ...single }],
  ['a list of addresses', undefined, { clusterIPs: ['10.0.0.1'] }, { ...at('10.0.0.1'), ...single }],
  [
    'an address and a list that differ',
    undefined,
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'] },
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'], ...single },
  ],
  [
    'headless, without a selector',
    undefined,
    { clusterIP: 'None' },
    { ...headless, ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] },
  ],
  [
    'headless, without a selector, IPv6 first',
    undefined,
    { clusterIP: 'None', ipFamilies: ['IPv6'] },
    { ...headless, ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] },
  ],
  [
    'headless, without a selector, both families',
    undefined,
    { clusterIP: 'None', ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'PreferDualStack' },
    { ...headless, ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] },
  ],
  [
    'headless, without a selector, one family',
    undefined,
    { clusterIP: 'None', ipFamilyPolicy: 'SingleStack' },
    { ...headless, ...single },
  ],
  [
    'headless, with a selector',
    undefined,
    { clusterIP: 'None', selector: { a: 'b' } },
    { ...headless, selector: { a: 'b' }, ...single },
  ],
  ['an ExternalName', undefined, { type: 'ExternalName' }, { type: 'ExternalName' }],
  ['an address that the client leaves out', ordinary, { type: 'ClusterIP' }, ordinary],
  ['an empty address', ordinary, { type: 'ClusterIP', clusterIP: '', clusterIPs: [] }, ordinary],
  [
    'another address, and the list as it was',
    ordinary,
    { ...ordinary, clusterIP: '10.0.0.2' },
    { ...ordinary, ...at('10.0.0.2') },
  ],
  [
    'another address and another list',
    ordinary,
    { ...ordinary, clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.3'] },
    { ...ordinary, clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.3'] },
  ],
  [
    'what an ExternalName cannot have',
    { ...ordinary, internalTrafficPolicy: 'Cluster' },
    { ...ordinary, internalTrafficPolicy: 'Cluster', type: 'ExternalName', sessionAffinity: 'None' },
    { type: 'ExternalName', sessionAffinity: 'None' },
  ],
  [
    'what a client changed to what an ExternalName cannot have',
    { ...ordinary, internalTrafficPolicy: 'Cluster' },
    { type: 'ExternalName', ...at('10.0.0.9'), internalTrafficPolicy: 'Local' },
    { type: 'ExternalName', ...at('10.0.0.9'), internalTrafficPolicy: 'Local' },
  ],
  [
    'the policy for traffic from outside, when there is none any more',
    { ...ordinary, type: 'NodePort', externalTrafficPolicy: 'Local' },
    { ...ordinary, externalTrafficPolicy: 'Local' },
    ordinary,
  ],
  [
    'the policy for traffic from outside, of another type that has some',
    { ...ordinary, type: 'NodePort', externalTrafficPolicy: 'Local' },
    { ...ordinary, type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
    { ...ordinary, type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
  ],
];
for (const [what, before, given, then] of kept) {
  test(`a ${before ? 'changed' : 'new'} Service: ${what}`, () => {
    const made = object(structuredClone(given));
    service.normalise?.(made, before && object(before), '');
    assert.deepEqual(made.spec, then);
  });
}

test('the ports of Endpoints and EndpointSlices are of TCP', () => {
  const endpoints = { subsets: [{ ports: [{ port: 1 }, { port: 2, protocol: 'UDP' }] }, {}] };
  kindNamed('Endpoints').setDefaults(endpoints as never);
  assert.deepEqual(endpoints.subsets[0]?.ports, [
    { port: 1, protocol: 'TCP' },
    { port: 2, protocol: 'UDP' },
  ]);
  const slice = { ports: [{ port: 1 }, { name: 'a', port: 2, protocol: 'UDP' }] };
  kindNamed('EndpointSlice').setDefaults(slice as never);
  assert.deepEqual(slice.ports, [
    { name: '', port: 1, protocol: 'TCP' },
    { name: 'a', port: 2, protocol: 'UDP' },
  ]);
});
