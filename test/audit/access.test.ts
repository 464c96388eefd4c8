// The published roles are enough to look, and not enough to act.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumes } from '../../src/api/kinds.ts';
import { serviceAccountUser } from '../../src/apiserver/auth/users.ts';
import { createApiServer } from '../../src/apiserver/index.ts';
import { audit } from '../../src/audit/audit.ts';
import { DEFAULT_JUDGE_OPTIONS } from '../../src/audit/decide/options.ts';
import { applyPlan } from '../../src/audit/perform/apply-plan.ts';
import { planOf } from '../../src/audit/plan-file.ts';
import { installRoles } from '../../src/cluster/start-objects.ts';
import { loopbackTransport } from '../../src/csi/client/loopback-transport.ts';
import { ScriptedDriver } from '../../src/csi/testing/scripted-driver.ts';
import { COMPONENT_ACCOUNTS } from '../../src/manifests/published-rbac.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { DRIVER } from './world.ts';

const OPTIONS = {
  ...DEFAULT_JUDGE_OPTIONS,
  minAgeMs: 0,
  timeoutMs: 10_000,
  confirmAfterMs: 0,
  leaseNamespace: 'kube-system',
};

test('[AUD-1] with the published role everything is read, and nothing can be changed', async (t) => {
  const server = await createApiServer({
    clock: realClock,
    random: seededRandom('audit'),
    log: silentLog,
    listen: false,
  });
  t.after(() => server.stop());
  const driver = new ScriptedDriver({ name: DRIVER, controller: ['LIST_VOLUMES'] });
  const csi = loopbackTransport(driver.services, { clock: realClock, log: silentLog, address: DRIVER });
  const ports = {
    kube: server.client(serviceAccountUser('kube-system', COMPONENT_ACCOUNTS.audit)),
    csi,
    clock: realClock,
  };
  const { signal } = new AbortController();
  await server.client(server.adminUser).create(persistentVolumes, {
    metadata: { name: 'pv-gone' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: DRIVER, volumeHandle: 'never-was' },
    },
  });
  await assert.rejects(audit(ports, OPTIONS, signal), /forbidden/i, 'without the role');
  await installRoles(server, ['audit']);
  const found = await audit(ports, OPTIONS, signal);
  assert.deepEqual(found.problems, []);
  assert.deepEqual(
    found.findings.map(({ id }) => id),
    ['volume-missing/pv-gone'],
  );
  assert.notEqual(found.cluster, '');
  await assert.rejects(
    applyPlan(ports, planOf(found), OPTIONS, signal),
    /delete persistentvolumes\/pv-gone: .*forbidden.*0 steps were done before/i,
  );
});
