// `berth up --exec`: a driver that Berth starts, restarts and stops; its class is the default, its output is in the logs.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { BERTH, berth, EXAMPLES, startUp, temporaryDirectory } from './up-process.ts';

test('[BYO-2] a started driver is the default, is restarted when it dies, and ends with the cluster', {
  skip: lacking('mounts', 'kubectl'),
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const pidFile = join(directory, 'pid');
  // The node ID is new at each start, so that a registration can be told from the one before.
  const command =
    `echo $$ > ${pidFile}; echo "serving for $NODE_ID"; exec ${process.execPath} ${BERTH} driver hostpath ` +
    `--driver-name=other.csi.test --endpoint=$CSI_ENDPOINT --node-id=$NODE_ID-$$ --state-dir=${join(directory, 's')}`;
  const up = await startUp(t, join(directory, 'd'), [
    `--exec=${command}`,
    '--class-parameters=kind=fast,size=big',
  ]);
  const storageClass = await up.get('storageclass', 'other.csi.test');
  assert.deepEqual(storageClass.parameters, { kind: 'fast', size: 'big' });
  // What `berth up` tells its user to do.
  const example = join(EXAMPLES, 'claim-and-pod.yaml');
  await up.kubectl('apply', '-f', example);
  await up.published('web');
  assert.equal((await up.get('pvc', 'data')).spec.storageClassName, 'other.csi.test');
  const printed = up.output().stdout;
  assert.match(printed, /drivers +hostpath.csi.berth on node-1\n/);
  assert.match(printed, / +other.csi.test on node-1\n/);
  assert.match(printed, /classes .*hostpath, .*other.csi.test \(default\),/);
  const env = { KUBECONFIG: up.kubeconfig };
  assert.match((await berth(['logs', 'driver'], { env })).stdout, /driver +serving for node-1/);

  const first = Number(await readFile(pidFile, 'utf8'));
  process.kill(first, 'SIGKILL');
  const registered = `--for=jsonpath={.spec.drivers[?(@.name=="other.csi.test")].nodeID}`;
  let second = first;
  while (second === first) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    second = Number(await readFile(pidFile, 'utf8')) || first;
  }
  await up.kubectl('wait', 'csinode/node-1', `${registered}=node-1-${second}`, '--timeout=45s');
  assert.match(
    up.output().stderr,
    /A part failed; starting it again part=driver inMs=500 err=.*was ended by SIGKILL/,
  );
  await up.kubectl('delete', '-f', example, '--timeout=45s');
  await up.kubectl('wait', 'pv', '--all', '--for=delete', '--timeout=45s');
  assert.equal(await up.stop('SIGINT'), 0);
  assert.equal(existsSync(`/proc/${second}`), false, 'the driver ended with it');
});
