// Services and what they lead to, and the classes that a pod names.

import type { Subject } from './subject.ts';

export const networkSubjects: readonly Subject[] = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    plural: 'services',
    namespaced: true,
    subresources: ['status'],
    // Headless: a server has few addresses to give away.
    sample: { spec: { clusterIP: 'None', selector: { app: 'x' }, ports: [{ port: 80 }] } },
    values: {
      'spec/type': ['ClusterIP', 'NodePort', 'ExternalName', 'Odd'],
      'spec/clusterIP': ['10.0.0.300', 'x'],
      'spec/ports': [
        [{ port: 80, targetPort: 'web' }],
        [{ port: 80 }, { port: 81 }],
        [
          { name: 'a', port: 80 },
          { name: 'b', port: 80, protocol: 'UDP' },
        ],
        [
          { name: 'a', port: 80 },
          { name: 'a', port: 81 },
        ],
        [{ port: 0 }],
        [{ port: 70000 }],
        [{ port: 80, protocol: 'Odd' }],
        [{ port: 80, nodePort: 30080 }],
      ],
      'spec/selector': [{ app: 'y' }, { 'not valid!': 'y' }],
      'spec/sessionAffinity': ['ClientIP', 'Odd'],
      'spec/externalName': ['example.com', 'Not Valid'],
      'spec/ipFamilyPolicy': ['SingleStack', 'PreferDualStack', 'Odd'],
      'spec/ipFamilies': [['IPv4'], ['IPv6'], ['Odd']],
      'spec/publishNotReadyAddresses': [true],
      'spec/externalIPs': [['10.1.2.3'], ['x']],
      'status/loadBalancer': [{ ingress: [{ ip: '10.1.2.3' }] }, { ingress: [{ ip: 'x' }] }],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Endpoints',
    plural: 'endpoints',
    namespaced: true,
    sample: { subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }] },
    values: {
      subsets: [
        [{ addresses: [{ ip: '10.1.2.4' }], ports: [{ port: 81, protocol: 'UDP' }] }],
        [{ addresses: [{ ip: 'x' }], ports: [{ port: 80 }] }],
        [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ port: 80 }] }],
        [{ ports: [{ port: 80 }] }],
        [{ addresses: [{ ip: '10.1.2.3', nodeName: 'n1' }], ports: [{ port: 80 }, { port: 81 }] }],
        [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 70000 }] }],
      ],
    },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    plural: 'endpointslices',
    namespaced: true,
    sample: {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'] }],
      ports: [{ name: 'web', port: 80 }],
    },
    values: {
      addressType: ['IPv6', 'FQDN', 'Odd'],
      endpoints: [
        [{ addresses: ['10.1.2.4'], conditions: { ready: true } }],
        [{ addresses: ['x'] }],
        [{ addresses: ['10.1.2.3', '10.1.2.4'] }],
        [{ addresses: ['127.0.0.1'] }],
        [{ addresses: ['10.1.2.3'], hostname: 'Not Valid' }],
        [{ addresses: ['10.1.2.3'], nodeName: 'n1', zone: 'z' }],
      ],
      ports: [
        [{ name: 'web', port: 81, protocol: 'UDP' }],
        [{ name: 'Not Valid', port: 80 }],
        [
          { name: 'a', port: 80 },
          { name: 'a', port: 81 },
        ],
        [{ port: 80, protocol: 'Odd' }],
      ],
    },
  },
  {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    plural: 'priorityclasses',
    namespaced: false,
    sample: { value: 100, description: 'tested' },
    values: {
      value: [200, 2_000_000_000],
      globalDefault: [false],
      description: ['other'],
      preemptionPolicy: ['Never', 'Odd'],
    },
  },
  {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    plural: 'runtimeclasses',
    namespaced: false,
    sample: { handler: 'runc' },
    values: {
      handler: ['other', 'Not Valid'],
      overhead: [{ podFixed: { cpu: '100m' } }, { podFixed: { cpu: '-1' } }],
      scheduling: [
        { nodeSelector: { a: 'b' } },
        { nodeSelector: { 'not valid!': 'b' } },
        { tolerations: [{ key: 'a', operator: 'Exists' }] },
        { tolerations: [{ key: 'a', operator: 'Odd' }] },
      ],
    },
  },
];
