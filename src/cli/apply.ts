// `berth apply`: applies manifests by server-side apply.

import type { KubeObject } from '../api/object.ts';
import { boolFlag } from '../runtime/flags/flag.ts';
import { ifThere } from '../runtime/kube/if-there.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import { defineCommand, ExitCode, UsageError } from './command.ts';
import { resourceOfManifest } from './objects/find-resource.ts';
import { connectionFlags, fileFlags, namespaceFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';
import { readManifests } from './objects/read-manifests.ts';

const FIELD_MANAGER = 'berth-apply';

export const command = defineCommand({
  summary: 'Creates and updates objects from manifests: berth apply -f FILE',
  description:
    'Server-side apply: fields that were removed from the manifests are removed from the objects, fields of other managers ' +
    'stay, and a field that another manager owns is a conflict, unless --force-conflicts takes it.',
  flags: {
    ...connectionFlags,
    ...namespaceFlags,
    ...fileFlags,
    'force-conflicts': boolFlag({ help: 'Take fields that another manager owns' }),
    'dry-run': boolFlag({ help: 'Validate on the server without changing anything' }),
  },
  async run({ flags, env, log, signal, stdout, stderr }) {
    const path = flags.filename ?? flags.f;
    if (path === undefined)
      throw new UsageError('which manifests? Give -f FILE, a directory, or - for standard input');
    const manifests = await readManifests(path, process.stdin);
    await using client = await openClient({ flags, env, log });
    const { kube } = client;
    let served = (await kube.servedResources({ signal })).resources;
    let failed = 0;
    for (const { origin, object } of manifests) {
      let resource = resourceOfManifest(served, object);
      if (!resource) {
        // An earlier manifest may be the CRD of this kind.
        served = (await kube.servedResources({ signal })).resources;
        resource = resourceOfManifest(served, object);
      }
      if (!resource) {
        failed++;
        stderr.write(`${origin}: the server has no kind ${object.kind} in ${object.apiVersion}\n`);
        continue;
      }
      const { name } = object.metadata;
      const wanted = flags.namespace ?? flags.n;
      const namespace = resource.namespaced
        ? (object.metadata.namespace ?? wanted ?? client.defaultNamespace)
        : undefined;
      const at = { name, ...(namespace !== undefined && { namespace }) };
      const label = `${resource.kind.toLowerCase()}/${name}`;
      try {
        if (wanted !== undefined && namespace !== undefined && namespace !== wanted) {
          throw new UsageError(`its namespace is ${namespace}, but --namespace is ${wanted}`);
        }
        const before = await ifThere(kube.get(resource, at, { signal }));
        const after = await kube.patch(resource, at, withNamespace(object, namespace), {
          type: 'apply',
          fieldManager: FIELD_MANAGER,
          force: flags.forceConflicts,
          dryRun: flags.dryRun,
          fieldValidation: 'Strict',
          signal,
        });
        const same = before?.metadata.resourceVersion === after.metadata.resourceVersion;
        const done = before === undefined ? 'created' : same ? 'unchanged' : 'configured';
        stdout.write(`${label} ${done}${flags.dryRun ? ' (dry run)' : ''}\n`);
      } catch (error) {
        if (signal.aborted || !(error instanceof KubeError || error instanceof UsageError)) throw error;
        failed++;
        stderr.write(`${origin}: ${label}: ${error.message}\n`);
      }
    }
    return failed === 0 ? ExitCode.ok : ExitCode.failed;
  },
});

function withNamespace(object: KubeObject, namespace: string | undefined): KubeObject {
  if (namespace === undefined) return object;
  return { ...object, metadata: { ...object.metadata, namespace } };
}
