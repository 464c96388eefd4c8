// Gives components of Berth what deploy/ publishes, and no more, on any API server: definitions, roles, and a kubeconfig with
// the token of the component's account.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { customResourceDefinitions, serviceAccounts } from '../../src/api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../src/api/object.ts';
import { resourceOfManifest } from '../../src/cli/objects/find-resource.ts';
import { COMPONENT_ACCOUNTS, publishedRbac, type RbacComponent } from '../../src/manifests/published-rbac.ts';
import type { Discovery, KubeClient } from '../../src/runtime/kube/kube.ts';
import { isNotFound } from '../../src/runtime/kube/kube-error.ts';
import { realClock } from '../../src/runtime/time/clock.ts';

export const COMPONENT_NAMESPACE = 'kube-system';

/** Resolves when the kinds are served. */
export async function installDefinitions(kube: KubeClient, kinds: readonly Resource[]): Promise<void> {
  for (const { group, plural } of kinds) {
    const url = new URL(`../../deploy/crds/${group}_${plural}.yaml`, import.meta.url);
    await kube.create(customResourceDefinitions, parse(await readFile(url, 'utf8')));
  }
  for (const kind of kinds) {
    for (;;) {
      try {
        await kube.list(kind);
        break;
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await realClock.sleep(50);
      }
    }
  }
}

export async function installRoles(
  kube: KubeClient & Discovery,
  components: readonly RbacComponent[],
): Promise<void> {
  const { resources } = await kube.servedResources();
  for (const object of await publishedRbac({ components })) {
    const { apiVersion = '', kind = '' } = object;
    const resource = resourceOfManifest(resources, { apiVersion, kind });
    assert(resource, `${apiVersion} ${kind} is not served`);
    await kube.create(resource, object as Draft<KubeObject>);
  }
}

/** A kubeconfig for the same server, with the token of this component's account; resolves with its path. */
export async function componentKubeconfig(
  kube: KubeClient,
  { kubeconfig, directory }: { kubeconfig: string; directory: string },
  component: RbacComponent,
): Promise<string> {
  const account = { name: COMPONENT_ACCOUNTS[component], namespace: COMPONENT_NAMESPACE };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const answer = await kube.createSubresource<{ status: { token: string } }>(
    serviceAccounts,
    account,
    'token',
    body,
  );
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  config.users[0].user = { token: answer.status.token };
  const path = join(directory, `${component}.kubeconfig`);
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
