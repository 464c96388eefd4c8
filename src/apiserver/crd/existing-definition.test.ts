// CRDs that were stored before their rules were too expensive: what may still be changed about them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CustomResourceDefinition, customResourceDefinitions } from '../../api/kinds.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { Version } from '../storage/version.ts';
import { testServer } from '../testing/test-server.ts';

type Versions = CustomResourceDefinition['spec']['versions'];

const NAME = 'things.old.example.com';

function schema(rule: string, lists: number): object {
  const validations = [{ rule }];
  const list = {
    type: 'array',
    maxItems: 2_000,
    items: { type: 'string', maxLength: 10 },
    'x-kubernetes-validations': validations,
  };
  const properties = Object.fromEntries(Array.from({ length: lists }, (_, index) => [`a${index}`, list]));
  return { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } };
}

const versions = (rule: string, lists = 1): Versions =>
  [{ name: 'v1', served: true, storage: true, schema: schema(rule, lists) }] as unknown as Versions;

const CHEAP = 'self.size() < 10';
const DEAR = 'self.all(x, self.all(y, x == y))';

/** A server whose stored CRD has these versions, as if no limit had been there. */
async function serverWith(t: Parameters<typeof testServer>[0], stored: Versions) {
  const first = await testServer(t);
  await first.client(first.adminUser).create(customResourceDefinitions, {
    metadata: { name: NAME },
    spec: {
      group: 'old.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: versions(CHEAP),
    },
  } as CustomResourceDefinition);
  const image = first.image();
  const replaced = [...image.versions].map(([type, all]) => {
    const own = all.map((version) => {
      if (version.key !== NAME) return version;
      const object = version.copy() as CustomResourceDefinition;
      object.spec.versions = stored;
      return new Version({ key: NAME, revision: version.revision, object, freeze: true });
    });
    return [type, own] as const;
  });
  const server = await testServer(t, { image: { ...image, versions: new Map(replaced) } });
  const client = server.client(server.adminUser);
  return {
    async change(act: (crd: CustomResourceDefinition) => void): Promise<void> {
      const crd = structuredClone(await client.get(customResourceDefinitions, { name: NAME }));
      act(crd);
      await client.update(customResourceDefinitions, crd);
    },
    async changeStatus(): Promise<void> {
      const crd = structuredClone(await client.get(customResourceDefinitions, { name: NAME }));
      const acceptedNames = { plural: 'things', kind: 'Thing', shortNames: ['t'] };
      Object.assign(crd, { status: { ...crd.status, acceptedNames } });
      await client.update(customResourceDefinitions, crd, { subresource: 'status' });
    },
  };
}

const refused = (why: RegExp) => (error: unknown) => {
  assert.ok(error instanceof KubeError && error.code === 422);
  assert.match(error.message, why);
  return true;
};
const ONE = /estimated rule cost exceeds budget/;
const ALL = /estimated rule cost total for entire OpenAPIv3 schema exceeds budget/;

test('[DOOR-2] a stored rule above the cost limit stays valid, and the rest of its CRD can be changed', async (t) => {
  const { change, changeStatus } = await serverWith(t, versions(DEAR));
  await change((crd) => {
    crd.spec.names.shortNames = ['th'];
  });
  await change((crd) => {
    crd.spec.versions.push({ ...versions(CHEAP)[0], name: 'v2', storage: false } as Versions[number]);
  });
  await changeStatus();
});

test('[DOOR-2] the cost limit applies to a changed schema, a new version and a new rule', async (t) => {
  const { change } = await serverWith(t, versions(DEAR));
  await assert.rejects(
    change((crd) => {
      crd.spec.versions = versions(DEAR, 2);
    }),
    refused(ONE),
  );
  await assert.rejects(
    change((crd) => {
      crd.spec.versions.push({ ...versions(DEAR)[0], name: 'v2', storage: false } as Versions[number]);
    }),
    refused(ONE),
  );
});

test('[DOOR-2] the cost limit of a whole schema has no exception, except in status updates', async (t) => {
  const { change, changeStatus } = await serverWith(t, versions(DEAR, 10));
  await assert.rejects(
    change((crd) => {
      crd.spec.names.shortNames = ['th'];
    }),
    refused(ALL),
  );
  await changeStatus();
});
