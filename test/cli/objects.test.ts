// The commands for those without kubectl, as processes against `berth apiserver`.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ServerProcess, startServer } from '../apiserver/server-process.ts';

const BERTH = fileURLToPath(new URL('../../bin/berth', import.meta.url));

const MANIFESTS = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, labels: { app: db } }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
---
apiVersion: v1
kind: Secret
metadata: { name: key }
stringData: { password: hunter2 }
`;

describe('berth on objects', () => {
  let directory: string;
  let server: ServerProcess;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'objects-'));
    server = await startServer({ dir: directory });
    await writeFile(join(directory, 'all.yaml'), MANIFESTS);
  });
  after(async () => {
    await server.end('SIGTERM');
    await rm(directory, { recursive: true, force: true });
  });

  function berth(line: string, input?: string): Promise<{ code: number; out: string; err: string }> {
    return new Promise((resolve) => {
      const env = { ...process.env, KUBECONFIG: join(directory, 'kubeconfig') };
      const child = execFile(
        process.execPath,
        [BERTH, ...line.split(' ')],
        { cwd: directory, env },
        (error, out, err) => resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
      );
      // A command that refuses at once is gone before it reads.
      child.stdin?.on('error', () => {});
      child.stdin?.end(input ?? '');
    });
  }

  it('applies, and says what changed', async () => {
    assert.equal(
      (await berth('apply -f all.yaml')).out,
      'persistentvolumeclaim/data created\nsecret/key created\n',
    );
    assert.equal(
      (await berth('apply -f all.yaml')).out,
      'persistentvolumeclaim/data unchanged\nsecret/key unchanged\n',
    );
    const labelled = MANIFESTS.replace('app: db', 'app: web');
    assert.match((await berth('apply -f -', labelled)).out, /persistentvolumeclaim\/data configured/);
  });

  it('names file and line of what it cannot read, and sends nothing', async () => {
    const table: [string, RegExp][] = [
      ['kind: [', /standard input: /],
      ['just text', /standard input:1: not a Kubernetes object/],
      ['apiVersion: v1\nkind: Pod\nmetadata: {}', /Pod has no metadata.name/],
      ['apiVersion: nope/v1\nkind: Thing\nmetadata: { name: x }', /the server has no kind Thing in nope\/v1/],
      [`${MANIFESTS.split('---')[0]}  nonsense: 1`, /unknown field "spec\.nonsense"|nonsense/],
    ];
    for (const [input, message] of table) {
      const { code, err } = await berth('apply -f -', input);
      assert.notEqual(code, 0, input);
      assert.match(err, message);
    }
    assert.match(
      (await berth('apply -f missing.yaml')).err,
      /cannot read missing\.yaml: there is no such file/,
    );
  });

  it('gets tables, names and whole objects', async () => {
    const table = (await berth('get pvc')).out.split('\n');
    assert.match(table[0] ?? '', /^NAME\s+STATUS\s+VOLUME\s+CAPACITY/);
    assert.match(table[1] ?? '', /^data\s+Pending/);
    assert.match((await berth('get pvc -A')).out, /^NAMESPACE\s+NAME[^\n]*\ndefault\s+data/);
    assert.equal((await berth('get pvc,secret -o name')).out, 'persistentvolumeclaim/data\nsecret/key\n');
    assert.equal(JSON.parse((await berth('get pvc/data -o json')).out).spec.volumeMode, 'Filesystem');
    assert.match(
      (await berth('get pvc data -o yaml')).out,
      /^apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n/,
    );
    assert.match((await berth('get pods')).err, /No resources found in default namespace/);
    assert.equal((await berth('get nonsense')).code, 2);
    assert.equal((await berth('get pvc other')).code, 1);
    assert.match((await berth('get api-resources')).out, /persistentvolumeclaims\s+pvc\s+v1\s+true/);
  });

  it('describes without giving secrets away', async () => {
    const { out } = await berth('describe secret key');
    assert.match(out, /password: 7 bytes/);
    assert.doesNotMatch(out, /hunter2|aHVudGVyMg/);
    assert.match((await berth('describe pvc data')).out, /Name: data[\s\S]*Events: <none>/);
  });

  it('waits for states, and says what it waits for', async () => {
    assert.match((await berth('wait pvc data --for=jsonpath={.status.phase}=Pending')).out, /condition met/);
    const late = await berth('wait pvc data --for=jsonpath={.status.phase}=Bound --timeout 200ms');
    assert.equal(late.code, 1);
    assert.match(late.err, /still waiting after 0\.2 s/);
    assert.equal((await berth('wait pvc data --for=nonsense')).code, 2);
  });

  it('deletes, and names the finalizers that hold an object', async () => {
    const held = await berth('delete pvc data --timeout 200ms');
    assert.equal(held.code, 1);
    assert.match(held.err, /waits for its finalizers kubernetes\.io\/pvc-protection/);
    assert.equal((await berth('delete secret key')).code, 0);
    assert.equal((await berth('delete secret key')).code, 1);
    assert.equal((await berth('delete secret key --ignore-not-found')).code, 0);
    assert.equal((await berth('delete pvc')).code, 2);
  });
});
