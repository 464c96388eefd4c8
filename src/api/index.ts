// The public API `berth/api`: types of Kubernetes objects, resource descriptors and pure helpers.

export * from './default-class.ts';
export * from './inline-volumes.ts';
export * from './kinds.ts';
export * from './names.ts';
export * from './object.ts';
export * from './quantity.ts';
export * from './selectors.ts';
export * from './snapshot-secrets.ts';
export * from './snapshots.ts';
export * from './topology.ts';
export * from './volumes.ts';
export * from './well-known.ts';
