// The ConfigMap `kube-root-ca.crt` of each namespace, from which pods learn the CA of the API server. Restored when it is
// changed or deleted, until its namespace is deleted.

import { configMaps, namespaces } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Log } from '../../runtime/ports.ts';
import type { Reader } from '../pipeline.ts';

export const ROOT_CA = 'kube-root-ca.crt';

/** `client` acts as the server itself. Resolves once every namespace has it; returns a function that stops following. */
export async function publishRootCa(ports: {
  client: KubeClient;
  reader: Reader;
  caPem: string;
  log: Log;
  /** The stored state has them already. */
  isDone: boolean;
}): Promise<() => void> {
  const { client, reader, caPem, log, isDone } = ports;
  const data = { 'ca.crt': caPem };
  const publish = async (namespace: string): Promise<void> => {
    if (reader.get(namespaces, { name: namespace })?.metadata.deletionTimestamp !== undefined) return;
    const present = reader.get(configMaps, { namespace, name: ROOT_CA });
    if (present?.data?.['ca.crt'] === caPem) return;
    try {
      if (present) await client.update(configMaps, { ...present, data });
      else await client.create(configMaps, { metadata: { namespace, name: ROOT_CA }, data });
    } catch (error) {
      // A concurrent write causes another change event, which is handled then; a deleted namespace needs no ConfigMap.
      if (isAlreadyExists(error) || isConflict(error) || isNotFound(error)) return;
      log.error(
        `the ConfigMap ${ROOT_CA} could not be written; pods there cannot verify the API server`,
        error,
        {
          namespace,
        },
      );
    }
  };
  if (!isDone) await Promise.all([...reader.list(namespaces)].map(({ metadata }) => publish(metadata.name)));
  const unfollow = [
    reader.subscribe(namespaces, (before, after) => {
      if (before === undefined && after !== undefined) void publish(after.metadata.name);
    }),
    reader.subscribe(configMaps, (before, after) => {
      const { name, namespace = '' } = (after ?? before)?.metadata ?? {};
      if (before !== undefined && name === ROOT_CA) void publish(namespace);
    }),
  ];
  return () => {
    for (const each of unfollow) each();
  };
}
