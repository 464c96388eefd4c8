// The embedded Kubernetes API server.

export type { PathHandler } from '../runtime/process/path-handler.ts';
export { DEFAULT_NODE_LABEL_PREFIXES } from './admission/node-labels.ts';
export { type ApiServer, type ApiServerOptions, createApiServer } from './api-server.ts';
export type { User } from './pipeline.ts';
export { DataDirError } from './storage/journal.ts';
