import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceAccounts } from '../../api/kinds.ts';
import { createApiServer } from '../../apiserver/index.ts';
import { quietLog } from '../../apiserver/testing/test-server.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { authorizeCaller } from './authorize-caller.ts';

test('[CBT-1] a token counts until it expires', async (t) => {
  let laterMs = 0;
  const clock = { ...realClock, now: () => realClock.now() + laterMs };
  const random = seededRandom('expired token');
  const server = await createApiServer({ clock, random, log: quietLog, listen: false });
  t.after(() => server.stop());
  const admin = server.client(server.adminUser);
  const account = { name: 'agent', namespace: 'default' };
  await admin.create(serviceAccounts, { metadata: account });
  const request = { spec: { audiences: ['backup'], expirationSeconds: 600 } };
  const { status } = await admin.createSubresource<{ status: { token: string } }>(
    serviceAccounts,
    account,
    'token',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', ...request },
  );
  const caller = { token: status.token, audience: 'backup', namespace: 'default', signal: t.signal };
  const refusal = async (): Promise<CsiError> => {
    try {
      await authorizeCaller(admin, caller);
    } catch (error) {
      assert.ok(error instanceof CsiError);
      return error;
    }
    assert.fail('it may read no snapshots');
  };
  assert.equal((await refusal()).code, 'PERMISSION_DENIED');
  laterMs = 601_000;
  const expired = await refusal();
  assert.equal(expired.code, 'UNAUTHENTICATED');
  assert.match(expired.description, /not valid for audience backup: .*expired/);
});

const user = { username: 'agent', groups: ['g'], uid: 'u', extra: { pod: ['p'] } };
const caller = { token: 't', audience: 'backup', namespace: 'ns', signal: new AbortController().signal };

/** Reviews with these answers; an Error is thrown. What is asked about access is kept. */
function reviews(token: object | Error, access: object | Error = { allowed: true }) {
  const asked: object[] = [];
  const create = async ({ plural }: { plural: string }, { spec }: { spec: object }) => {
    const status = plural === 'tokenreviews' ? token : access;
    if (plural !== 'tokenreviews') asked.push(spec);
    if (status instanceof Error) throw status;
    return { status };
  };
  return { asked, kube: { create } as never };
}
const known = { authenticated: true, user, audiences: ['backup'] };

test('[CBT-1] the review of access gets all that is known of the caller, and no more', async () => {
  const full = reviews(known);
  await authorizeCaller(full.kube, caller);
  const resourceAttributes = {
    verb: 'get',
    group: 'snapshot.storage.k8s.io',
    version: 'v1',
    resource: 'volumesnapshots',
    namespace: 'ns',
  };
  const { username, ...rest } = user;
  assert.deepEqual(full.asked, [{ user: username, ...rest, resourceAttributes }]);
  const bare = reviews({ ...known, user: { username } });
  await authorizeCaller(bare.kube, caller);
  assert.deepEqual(bare.asked, [{ user: username, groups: [], resourceAttributes }]);
});

const refusals: {
  name: string;
  token?: object | Error;
  access?: object | Error;
  code: string;
  says: RegExp;
}[] = [
  {
    name: 'a token that is not valid',
    token: { ...known, authenticated: false },
    code: 'UNAUTHENTICATED',
    says: /audience backup; /,
  },
  {
    name: 'a token of nobody',
    token: { ...known, user: undefined },
    code: 'UNAUTHENTICATED',
    says: /not valid/,
  },
  {
    name: 'a token for another audience',
    token: { ...known, audiences: ['other'] },
    code: 'UNAUTHENTICATED',
    says: /not valid/,
  },
  {
    name: 'a token for no audience',
    token: { ...known, audiences: undefined },
    code: 'UNAUTHENTICATED',
    says: /not valid/,
  },
  {
    name: 'a token with an error',
    token: { error: 'expired' },
    code: 'UNAUTHENTICATED',
    says: /backup: expired; /,
  },
  {
    name: 'a token that cannot be reviewed',
    token: new Error('down'),
    code: 'INTERNAL',
    says: /security token: down/,
  },
  { name: 'a caller without the right', access: {}, code: 'PERMISSION_DENIED', says: /namespace ns; / },
  {
    name: 'a caller that is denied',
    access: { allowed: true, denied: true, reason: 'rule 7' },
    code: 'PERMISSION_DENIED',
    says: /\(rule 7\)/,
  },
  {
    name: 'access that cannot be reviewed',
    access: new Error('down'),
    code: 'INTERNAL',
    says: /whether agent may read snapshots: down/,
  },
];
for (const { name, token = known, access, code, says } of refusals) {
  test(`[CBT-1] refused: ${name}`, async () => {
    await assert.rejects(authorizeCaller(reviews(token, access).kube, caller), (error) => {
      assert.ok(error instanceof CsiError);
      assert.equal(error.code, code);
      assert.match(error.description, says);
      return true;
    });
  });
}
