// Re-exported for the sidecars: the one reader of Secrets is in src/csi, since the node needs it too.

export { type CsiSecrets, readSecret, SecretError } from '../../csi/secrets/credentials.ts';
