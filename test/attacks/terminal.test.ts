// Escape sequences in what anybody can write: names of volumes' handles, messages, events, annotations, logs.

import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { createLog } from '../../src/runtime/log/log.ts';
import { runBerth } from '../run-berth.ts';
import { attackedServer, MAPS } from './attacked-server.ts';

/** Clears the screen, sets the title, colours, goes up; the same in C1; reorders text; overwrites the line. */
const EVIL =
  'x\u001b[2J\u001b]0;owned\u0007\u001b[31m\u001b[5A\u009b2J\u202edednammoc\u2069\u007f\rALL IS WELL';
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be printed.
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

test('[DOOR-6] what commands print of objects and events, and cells of tables, do not control the terminal', async (t) => {
  const kubeconfigPath = join(await mkdtemp(join(tmpdir(), 'berth-')), 'kubeconfig');
  const { asAdmin: call } = await attackedServer(t, { kubeconfigPath });
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', annotations: { note: EVIL } } };
  await call('POST', MAPS, { ...map, data: { text: `${EVIL}\nEvents: <none>` } });
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const { body } = await call('POST', '/api/v1/namespaces/default/persistentvolumeclaims', claim);
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'e', namespace: 'default' },
    involvedObject: {
      kind: 'PersistentVolumeClaim',
      namespace: 'default',
      name: 'c',
      uid: body.metadata.uid,
    },
    type: 'Warning',
    reason: 'ProvisioningFailed',
    message: EVIL,
    source: { component: 'provisioner' },
    lastTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
  };
  assert.equal((await call('POST', '/api/v1/namespaces/default/events', event)).code, 201);

  const accept = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const table = await call('GET', '/api/v1/namespaces/default/events', undefined, '', accept);
  assert.equal(table.body.kind, 'Table');
  for (const cell of table.body.rows[0].cells) assert.doesNotMatch(String(cell), OBEYED);

  const berth = (line: string) => runBerth([...line.split(' '), '--kubeconfig', kubeconfigPath]);
  for (const line of [
    'describe configmap m',
    'describe pvc c',
    'get events',
    'get events -o wide',
    'get configmaps -o json',
    'get configmaps -o yaml',
    'why pvc c',
  ]) {
    const { code, stdout, stderr } = await berth(line);
    assert.equal(code, 0, `${line}: ${stderr}`);
    assert.doesNotMatch(stdout + stderr, OBEYED, line);
  }
  assert.match((await berth('get events')).stdout, /x\\u001b\[2J/);
  // A value cannot pass for another field.
  assert.doesNotMatch((await berth('describe configmap m')).stdout, /^Events: <none>\nEvents/m);
  const { stderr } = await berth(`get configmap ${EVIL.replaceAll(' ', '')}`);
  assert.doesNotMatch(stderr, OBEYED);

  // What is for machines means what it meant.
  const json = JSON.parse((await berth('get configmap m -o json')).stdout);
  const yaml = parse((await berth('get configmap m -o yaml')).stdout);
  assert.equal(json.metadata.annotations.note, EVIL);
  assert.deepEqual(yaml, json);
});

test('[DOOR-6] lines of logs do not control the terminal', () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text.replace(/\n$/, '')) };
  for (const format of ['text', 'json'] as const) {
    const log = createLog({ stream, format, clock: { now: () => 0 } });
    log.info(EVIL, { driver: EVIL, nested: { text: EVIL } });
    log.error('the driver said', new Error(EVIL));
  }
  for (const line of written) assert.doesNotMatch(line, OBEYED);
  assert.equal(written.length, 4);
});
