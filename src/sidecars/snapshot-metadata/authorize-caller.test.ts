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
