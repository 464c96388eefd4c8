// What the parts of `berth up` say, read from another terminal.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { berth, EXAMPLES, startUp, temporaryDirectory } from './up-process.ts';

test('each part can be heard alone, and one that does not exist is named', {
  skip: lacking('root'),
}, async (t: TestContext) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  const env = { KUBECONFIG: up.kubeconfig };
  const example = join(EXAMPLES, 'claim-and-pod.yaml');
  assert.equal((await berth(['apply', '-f', example], { env })).code, 0);
  assert.equal((await berth(['wait', 'pod', 'web', '--for=condition=Ready'], { env })).code, 0);
  const all = await berth(['logs'], { env });
  assert.match(all.stdout, /provisioner +Provisioned a volume claim=default\/data/);
  assert.match(all.stdout, /attacher +Attached/);
  const alone = await berth(['logs', 'attacher'], { env });
  assert.match(alone.stdout, /Attached/);
  assert.doesNotMatch(alone.stdout, /provisioner/);
  const nobody = await berth(['logs', 'nobody'], { env });
  assert.equal(nobody.code, 1);
  assert.match(nobody.stderr, /no log lines of nobody/);
  await up.stop();
});
