import { validateDisruptionBudget, validateNetworkPolicy } from './policies.ts';
import { type Body, rows } from './testing/rows.ts';

const budget = (spec: Body) => ({ spec: { selector: { matchLabels: { app: 'a' } }, ...spec } });
rows(validateDisruptionBudget, {}, [
  ['a good budget', budget({ maxUnavailable: 1 }), []],
  ['a percentage', budget({ minAvailable: '50%' }), []],
  ['both', budget({ minAvailable: 1, maxUnavailable: 1 }), ['spec: Invalid value: ']],
  ['no percentage', budget({ minAvailable: 'most' }), ['spec.minAvailable: Invalid value: "most"']],
  [
    'more than all',
    budget({ maxUnavailable: '101%' }),
    ['spec.maxUnavailable: Invalid value: "101%": must not be'],
  ],
  ['less than none', budget({ maxUnavailable: -1 }), ['spec.maxUnavailable: Invalid value: -1']],
  [
    'an eviction policy that does not exist',
    budget({ unhealthyPodEvictionPolicy: 'Never' }),
    ['spec.unhealthyPodEvictionPolicy: Unsupported value: "Never"'],
  ],
  [
    'a label that cannot be',
    budget({ selector: { matchLabels: { a: 'b c' } } }),
    ['spec.selector.matchLabels: Invalid'],
  ],
]);

const policy = (spec: Body) => ({ spec: { podSelector: {}, ...spec } });
const egress = (rule: Body) => policy({ egress: [rule], policyTypes: ['Egress'] });
rows(validateNetworkPolicy, {}, [
  ['nothing is let in', policy({ policyTypes: ['Ingress'] }), []],
  ['a range of ports', egress({ ports: [{ port: 1, endPort: 9, protocol: 'UDP' }] }), []],
  ['a port by its name', policy({ ingress: [{ ports: [{ port: 'http' }] }] }), []],
  ['a direction that does not exist', policy({ policyTypes: ['Up'] }), ['spec.policyTypes[0]: Unsupported']],
  [
    'three directions',
    policy({ policyTypes: ['Egress', 'Ingress', 'Egress'] }),
    ['spec.policyTypes: Invalid value: ["Egress","Ingress","Egress"]: may not specify more than two'],
  ],
  [
    'ports that cannot be',
    egress({ ports: [{ port: 0, protocol: 'ICMP' }] }),
    ['spec.egress[0].ports[0].protocol: Unsupported', 'spec.egress[0].ports[0].port: Invalid value: 0'],
  ],
  [
    'a range that goes down',
    egress({ ports: [{ port: 9, endPort: 1 }] }),
    ['spec.egress[0].ports[0].endPort: '],
  ],
  [
    'a range from a name',
    egress({ ports: [{ port: 'http', endPort: 1 }] }),
    ['spec.egress[0].ports[0].endPort: Invalid value: 1: may not be specified when `port` is non-numeric'],
  ],
  [
    'a peer that is none',
    egress({ to: [{}] }),
    ['spec.egress[0].to[0]: Required value: must specify a peer'],
  ],
  [
    'a peer that is two',
    egress({ to: [{ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }] }),
    ['spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer'],
  ],
  [
    'no network',
    egress({ to: [{ ipBlock: { cidr: '10.0.0.0/33', except: ['x'] } }] }),
    ['spec.egress[0].to[0].ipBlock.cidr: Invalid', 'spec.egress[0].to[0].ipBlock.except[0]: Invalid'],
  ],
]);
