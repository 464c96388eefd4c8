import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  validateEndpointSlice,
  validateEndpointSliceUpdate,
  validateEndpoints,
  validateService,
  validateServiceUpdate,
} from './service.ts';
import { type Body, rows } from './testing/rows.ts';
import { serviceWarnings } from './warnings.ts';

const service = (spec: Body) => ({ spec: { type: 'ClusterIP', ports: [{ port: 80 }], ...spec } });
rows(validateService, {}, [
  ['a good service', service({ clusterIPs: ['10.0.0.1'], clusterIP: '10.0.0.1' }), []],
  ['a service of no type that exists', service({ type: 'Any' }), ['spec.type: Unsupported value']],
  [
    'a service of policies that do not exist',
    service({ sessionAffinity: 'A', internalTrafficPolicy: 'B', externalTrafficPolicy: 'C' }),
    ['spec.sessionAffinity: Unsup', 'spec.internalTrafficPolicy: Unsup', 'spec.externalTrafficPolicy: Unsup'],
  ],
  ['a service without ports', service({ ports: [] }), ['spec.ports: Required value']],
  ['a headless service without ports', service({ ports: [], clusterIP: 'None', clusterIPs: ['None'] }), []],
  [
    'a headless service of a node',
    service({ type: 'NodePort', clusterIP: 'None' }),
    ['spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services'],
  ],
  ['a service elsewhere', service({ type: 'ExternalName', externalName: 'a.example', ports: [] }), []],
  ['a service nowhere', service({ type: 'ExternalName', ports: [] }), ['spec.externalName: Required value']],
  [
    'a service elsewhere, with an address here',
    service({ type: 'ExternalName', externalName: 'a.example', clusterIP: '10.0.0.1' }),
    ['spec.clusterIPs: Forbidden: may not be set for ExternalName services'],
  ],
  [
    'an address that is none',
    service({ clusterIP: '10.0', clusterIPs: ['10.0'], ports: [] }),
    ['spec.clusterIPs[0]: Invalid value: "10.0"'],
  ],
  [
    'an address of another family',
    service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv6'] }),
    ['spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
  ],
  [
    'two first addresses',
    service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'] }),
    ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`'],
  ],
  [
    'families that no address is of, before anything else',
    service({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack', ports: [] }),
    [
      'spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster',
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured',
    ],
  ],
  ['families of whoever writes the endpoints', service({ clusterIP: 'None', ipFamilies: ['IPv6'] }), []],
  [
    'families that do not exist',
    service({ ipFamilies: ['IPv5'] }),
    ['spec.ipFamilies[0]: Unsupported value'],
  ],
  [
    'ports with names',
    service({
      ports: [
        { name: 'a', port: 1 },
        { name: 'b', port: 65_535 },
      ],
    }),
    [],
  ],
  [
    'ports without names',
    service({ ports: [{ port: 1 }, { name: 'b', port: 2 }] }),
    ['spec.ports[0].name: Required value'],
  ],
  [
    'ports of one name',
    service({
      ports: [
        { name: 'a', port: 1 },
        { name: 'a', port: 2 },
      ],
    }),
    ['spec.ports[1].name: Duplicate value: "a"'],
  ],
  ['a port name that is none', service({ ports: [{ name: 'A', port: 1 }] }), ['spec.ports[0].name: Invalid']],
  [
    'ports out of range',
    service({ ports: [{ port: 0, targetPort: 65_536, nodePort: 1.5, protocol: 'IP' }] }),
    [
      'spec.ports[0].port: Invalid value: 0',
      'spec.ports[0].targetPort: Invalid value: 65536',
      'spec.ports[0].nodePort: Invalid value: 1.5',
      'spec.ports[0].protocol: Unsupported value',
      'spec.ports[0].nodePort: Forbidden',
    ],
  ],
  [
    'a port without a number',
    service({ ports: [{ targetPort: 'http', nodePort: 0 }] }),
    ['spec.ports[0].port: Invalid value: 0'],
  ],
]);

test('the clusterIP of a service is immutable while it has one', () => {
  const errors = (before: Body, after: Body) =>
    validateServiceUpdate({ spec: after } as never, { spec: before } as never).length;
  const [one, two] = [{ clusterIP: '10.0.0.1' }, { clusterIP: '10.0.0.2' }];
  assert.equal(errors(one, one), 0);
  assert.equal(errors(one, two), 1);
  assert.equal(errors({}, two), 0);
  assert.equal(errors({ ...one, type: 'ExternalName' }, two), 0);
  assert.equal(errors(one, { type: 'ExternalName' }), 0);
});

test('an address that is none is not reported as a change, too', () => {
  const before = service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] });
  const after = service({ clusterIP: 'x', clusterIPs: ['x'] });
  assert.deepEqual(validateServiceUpdate(after as never, before as never), []);
});

test('a service is warned of what it ignores', () => {
  const warned = (spec: Body) => serviceWarnings(service({ sessionAffinity: 'None', ...spec }) as never);
  assert.deepEqual(warned({}), []);
  assert.deepEqual(warned({ externalName: 'a.b' }), [
    'spec.externalName is ignored when spec.type is not "ExternalName"',
  ]);
  assert.equal(
    warned({ clusterIP: 'None', externalIPs: ['10.1.2.3'], sessionAffinity: 'ClientIP' }).length,
    2,
  );
  assert.match(String(warned({ externalIPs: ['10.1.2.3'] })), /^spec.externalIPs is deprecated/);
  assert.match(
    String(warned({ type: 'ExternalName', externalIPs: ['1.2.3.4'] })),
    /^spec.externalIPs is ignored/,
  );
});

const subset = (change: Body) => ({
  subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }], ...change }],
});
rows(validateEndpoints, {}, [
  ['good endpoints', subset({}), []],
  ['endpoints that are not ready', subset({ addresses: [], notReadyAddresses: [{ ip: '2001:db8::1' }] }), []],
  ['endpoints without addresses', subset({ addresses: [] }), ['subsets[0]: Required value: must specify']],
  [
    'endpoints at no address',
    subset({ addresses: [{ ip: 'here' }, { ip: '127.0.0.1' }, { ip: '::1' }] }),
    [
      'subsets[0].addresses[0].ip: Invalid value: "here": must be a valid IP address',
      'subsets[0].addresses[1].ip: Invalid value: "127.0.0.1": may not be in the loopback range',
      'subsets[0].addresses[2].ip: Invalid value: "::1": may not be in the loopback range',
    ],
  ],
  [
    'endpoints with ports that are none',
    subset({
      ports: [
        { port: 80, protocol: 'IP' },
        { name: 'b', port: 0 },
      ],
    }),
    [
      'subsets[0].ports[0].name: Required',
      'subsets[0].ports[0].protocol: Unsup',
      'subsets[0].ports[1].port: Invalid',
    ],
  ],
]);

const slice = { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }], ports: [{ port: 80 }] };
const many = (length: number) => ({ endpoints: Array.from({ length }, () => ({ addresses: ['10.0.0.1'] })) });
rows(validateEndpointSlice, slice, [
  ['a good slice', {}, []],
  ['a slice of no type', { addressType: undefined }, ['addressType: Required value']],
  ['a slice of a type that does not exist', { addressType: 'IPv5' }, ['addressType: Unsupported value']],
  ['a slice as large as it may be', many(1000), []],
  ['a slice that is too large', many(1001), ['endpoints: Invalid value: 1001']],
  ['a slice with an endpoint at no address', { endpoints: [{}] }, ['endpoints[0].addresses: Required value']],
  [
    'a slice with an address that is none',
    { endpoints: [{ addresses: ['here'] }] },
    ['endpoints[0].addresses[0]: Invalid'],
  ],
  ['a slice of names', { addressType: 'FQDN', endpoints: [{ addresses: ['a.example'] }] }, []],
  ['a slice with all ports', { ports: [{ name: 'a' }, { name: 'b', port: null }] }, []],
  [
    'a slice with ports that are none',
    {
      ports: [{ name: 'a' }, { name: 'a', protocol: 'IP' }],
    },
    ['ports[1].protocol: Unsupported value', 'ports[1].name: Duplicate value'],
  ],
]);

test('endpoints that do not change are not judged again', () => {
  const next = { ...slice, addressType: 'IPv6' } as never;
  assert.deepEqual(validateEndpointSlice(next, slice as never), []);
  assert.equal(validateEndpointSlice(next, { ...slice, endpoints: [] } as never).length, 1);
});

test('the address type of an EndpointSlice is immutable', () => {
  const of = (addressType: string) => ({ addressType }) as never;
  assert.deepEqual(validateEndpointSliceUpdate(of('IPv4'), of('IPv4')), []);
  assert.equal(validateEndpointSliceUpdate(of('IPv6'), of('IPv4')).length, 1);
});
