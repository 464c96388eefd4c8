// `berth delete`: deletes objects and, by default, waits until they are gone.

import type { ObjectName } from '../api/object.ts';
import { boolFlag, durationFlag, intFlag } from '../runtime/flags/flag.ts';
import { awaitObject } from '../runtime/kube/await-object.ts';
import type { ServedResource } from '../runtime/kube/kube.ts';
import { isNotFound } from '../runtime/kube/kube-error.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand, ExitCode, UsageError } from './command.ts';
import { objectArguments, resourceOfManifest } from './objects/find-resource.ts';
import { connectionFlags, fileFlags, selectionFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';
import { readManifests } from './objects/read-manifests.ts';

export const command = defineCommand({
  summary: 'Deletes objects and waits until they are gone',
  description: 'Examples: `berth delete pod web`, `berth delete pvc --all`, `berth delete -f FILE`.',
  arguments: { usage: 'KIND NAME… | KIND/NAME… | -f FILE', min: 0, max: 100 },
  completes: 'objects',
  flags: {
    ...connectionFlags,
    ...selectionFlags,
    ...fileFlags,
    all: boolFlag({ help: 'Delete all objects of the kind in the namespace' }),
    wait: boolFlag({ help: 'Wait until the objects are gone', default: true }),
    timeout: durationFlag({ help: 'How long to wait; 0: no limit', default: 0 }),
    'grace-period': intFlag({ help: 'Grace period of pods in seconds; -1: that of the pod', default: -1 }),
    'ignore-not-found': boolFlag({ help: 'Treat objects that do not exist as deleted' }),
  },
  async run({ flags, args, env, log, signal, stdout, stderr }) {
    await using client = await openClient({ flags, env, log });
    const { kube, defaultNamespace } = client;
    const served = (await kube.servedResources({ signal })).resources;
    const namespace = flags.namespace ?? flags.n ?? defaultNamespace;
    const within = (resource: ServedResource) => (resource.namespaced ? { namespace } : {});
    const targets: { resource: ServedResource; at: ObjectName }[] = [];

    const path = flags.filename ?? flags.f;
    if (path !== undefined) {
      for (const { origin, object } of (await readManifests(path, process.stdin)).reverse()) {
        const resource = resourceOfManifest(served, object);
        if (!resource)
          throw new UsageError(`${origin}: the server has no kind ${object.kind} in ${object.apiVersion}`);
        const own = object.metadata.namespace;
        targets.push({
          resource,
          at: { name: object.metadata.name, ...within(resource), ...(own && { namespace: own }) },
        });
      }
    } else {
      for (const { resource, name } of objectArguments(served, args)) {
        const selector = flags.selector ?? flags.l;
        if (name !== undefined) targets.push({ resource, at: { name, ...within(resource) } });
        else if (flags.all || selector !== undefined) {
          const selection = flags.allNamespaces || flags.A ? {} : within(resource);
          const found = await kube.list(resource, {
            ...selection,
            ...(selector && { labelSelector: selector }),
            signal,
          });
          for (const { metadata } of found.items) targets.push({ resource, at: metadata });
        } else throw new UsageError(`which ${resource.plural}? Give names, --selector or --all`);
      }
    }

    let failed = 0;
    for (const { resource, at } of targets) {
      const label = `${resource.kind.toLowerCase()}/${at.name}`;
      try {
        const grace = flags.gracePeriod >= 0 ? { gracePeriodSeconds: flags.gracePeriod } : {};
        await kube.delete(resource, at, { ...grace, propagationPolicy: 'Background', signal });
        stdout.write(`${label} deleted\n`);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        if (flags.ignoreNotFound) continue;
        failed++;
        stderr.write(`${label}: not found\n`);
      }
    }
    if (flags.wait) {
      for (const { resource, at } of targets) {
        await awaitObject({
          kube,
          clock: realClock,
          resource,
          at,
          timeoutMs: flags.timeoutMs,
          signal,
          until: (object) => !object,
        });
      }
    }
    return failed === 0 ? ExitCode.ok : ExitCode.failed;
  },
});
