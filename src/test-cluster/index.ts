// The public API of `berth/testing`: a whole cluster in the process of a test, with the driver under test.

export { type ClusterOptions, startCluster } from './start-cluster.ts';
export { startVirtualCluster, VirtualCluster, type VirtualClusterOptions } from './start-virtual-cluster.ts';
export type { ClaimOptions, CsiCall, PodOptions, RunningPod } from './test-cluster.ts';
export { TestCluster } from './test-cluster.ts';
export type { VirtualMachine } from './virtual-node.ts';
