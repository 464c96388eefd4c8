// The library's view of Kubernetes objects: types, descriptors, and pure helpers.

export * from './kinds.ts';
export * from './names.ts';
export * from './object.ts';
export * from './quantity.ts';
export * from './selectors.ts';
