// Binding, protection, garbage and sets, on the embedded API server and on a real kube-apiserver.

import { sameOnBothServers } from './component-tests.ts';

sameOnBothServers([
  'binder/binder',
  'protection/protection',
  'ephemeral/ephemeral-claims',
  'garbage-collector/garbage-collector',
  'namespace/namespace-controller',
  'pod-gc/pod-gc',
  'statefulset/statefulset-controller',
]);
