// kubectl against `berth apiserver`: what people type, and what they must see.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { lacking } from '../capabilities.ts';
import { type ServerProcess, startServer } from './server-process.ts';

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

const CLAIM = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  labels: { app: db }
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  resources:
    requests:
      storage: 1Gi
`;

const POD = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: { app: web }
spec:
  containers:
  - name: main
    image: busybox
    volumeMounts: [{ name: data, mountPath: /data }]
  volumes:
  - name: data
    persistentVolumeClaim: { claimName: data }
`;

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: { plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gd] }
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - { name: Size, type: integer, jsonPath: .spec.size }
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: { type: integer, description: How large it is. }
`;

describe('kubectl', { skip: lacking('kubectl') }, () => {
  let dir: string;
  let server: ServerProcess;
  /** kubectl's own minor version: some things came later than others. */
  let minor: number;
  const running = new Set<ChildProcess>();

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'kubectl-'));
    server = await startServer({ dir });
    minor = Number.parseInt(JSON.parse(await kubectl('version -o json')).clientVersion.minor, 10);
  });
  after(async () => {
    for (const child of running) child.kill('SIGKILL');
    await server.end('SIGTERM');
    await rm(dir, { recursive: true, force: true });
  });

  function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const child = spawn('kubectl', args, {
      env: { PATH: process.env.PATH ?? '', HOME: dir, KUBECONFIG: server.kubeconfig, ...env },
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  }

  async function run(
    args: readonly string[],
    options: { input?: string; env?: Record<string, string> } = {},
  ) {
    const child = start(args, options.env);
    const outcome: Outcome = { code: -1, stdout: '', stderr: '' };
    child.stdout?.on('data', (chunk) => (outcome.stdout += chunk));
    child.stderr?.on('data', (chunk) => (outcome.stderr += chunk));
    // A command that refuses at once is gone before it reads.
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
    outcome.code = await new Promise((resolve) => child.once('close', (code) => resolve(code ?? -1)));
    return outcome;
  }

  /** Runs it and expects success. */
  async function kubectl(line: string, input?: string): Promise<string> {
    const { code, stdout, stderr } = await run(line.split(' '), input === undefined ? {} : { input });
    assert.equal(code, 0, `kubectl ${line}: ${stderr}`);
    return stdout;
  }

  async function refused(line: string, input?: string): Promise<string> {
    const { code, stderr, stdout } = await run(line.split(' '), input === undefined ? {} : { input });
    assert.notEqual(code, 0, `kubectl ${line} did not fail: ${stdout}`);
    return stderr;
  }

  /** Runs until its output matches, then ends it. */
  async function untilSeen(line: string, pattern: RegExp): Promise<string> {
    const child = start(line.split(' '));
    let text = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (chunk) => {
        text += chunk;
        if (pattern.test(text)) resolve();
      });
      child.once('exit', () => reject(new Error(`kubectl ${line} ended; it had said ${text}`)));
    });
    child.removeAllListeners('exit');
    child.kill('SIGKILL');
    running.delete(child);
    return text;
  }

  it('knows the server and its resources', async () => {
    assert.equal(JSON.parse(await kubectl('version -o json')).serverVersion.major, '1');
    const resources = await kubectl('api-resources -o name');
    for (const name of [
      'persistentvolumeclaims',
      'volumeattachments.storage.k8s.io',
      'leases.coordination.k8s.io',
    ]) {
      assert.ok(resources.split('\n').includes(name), name);
    }
    assert.match(await kubectl('api-versions'), /^storage\.k8s\.io\/v1$/m);
  });

  it('applies: creates, leaves alone, changes', async () => {
    assert.equal(await kubectl('apply -f -', CLAIM), 'persistentvolumeclaim/data created\n');
    assert.equal(await kubectl('apply -f -', CLAIM), 'persistentvolumeclaim/data unchanged\n');
    const grown = CLAIM.replace('app: db', 'app: db, tier: one');
    assert.equal(await kubectl('apply -f -', grown), 'persistentvolumeclaim/data configured\n');
    const less = await kubectl('apply -f -', CLAIM);
    assert.equal(less, 'persistentvolumeclaim/data configured\n');
    assert.equal(await kubectl('get pvc data -o jsonpath={.metadata.labels.tier}'), '');
    assert.equal(await kubectl('apply -f -', POD), 'pod/web created\n');
  });

  it('shows differences before they are applied', async () => {
    const { code, stdout } = await run(['diff', '-f', '-'], {
      input: CLAIM.replace('app: db', 'app: other'),
    });
    assert.equal(code, 1);
    assert.match(stdout, /^-\s+app: db$/m);
    assert.match(stdout, /^\+\s+app: other$/m);
    assert.equal((await run(['diff', '-f', '-'], { input: CLAIM })).code, 0);
  });

  it('gets in every form', async () => {
    assert.match(
      await kubectl('get pvc'),
      /^NAME\s+STATUS\s+VOLUME\s+CAPACITY\s+ACCESS MODES\s+STORAGECLASS/,
    );
    assert.match(await kubectl('get pvc'), /^data\s+Pending\s+.*fast/m);
    assert.match(await kubectl('get pvc,pod -o wide'), /pod\/web/);
    assert.equal(await kubectl('get pvc -o name'), 'persistentvolumeclaim/data\n');
    assert.equal(JSON.parse(await kubectl('get pvc data -o json')).spec.storageClassName, 'fast');
    assert.equal(JSON.parse(await kubectl('get pvc -o json')).items.length, 1);
    assert.match(await kubectl('get pvc data -o yaml'), /storageClassName: fast/);
    assert.equal(await kubectl('get pvc data -o jsonpath={.spec.accessModes[0]}'), 'ReadWriteOnce');
    assert.equal(await kubectl('get pvc data -o go-template={{.metadata.name}}'), 'data');
    assert.match(
      await kubectl('get pvc -o custom-columns=N:.metadata.name,C:.spec.storageClassName'),
      /data\s+fast/,
    );
    assert.match(await kubectl('get pvc -l app=db --show-labels'), /app=db/);
    assert.equal(await kubectl('get pvc -l app=none -o name'), '');
    assert.match(
      await kubectl('get pods --field-selector metadata.name=web -A --sort-by=.metadata.name'),
      /web/,
    );
    assert.match(await kubectl('get all'), /pod\/web/);
    assert.match(await kubectl('get --raw /api/v1/namespaces/default'), /"kind":"Namespace"/);
    assert.match(await refused('get pvc none'), /persistentvolumeclaims "none" not found/);
    assert.match(await refused('get nonsense'), /the server doesn't have a resource type "nonsense"/);
  });

  it('watches', async () => {
    const watching = untilSeen('get cm -w -o name', /configmap\/seen-2/);
    await kubectl('create configmap seen-1 --from-literal=a=b');
    await kubectl('create configmap seen-2 --from-literal=a=b');
    assert.match(await watching, /seen-1\n(.*\n)*configmap\/seen-2/);
    const table = untilSeen('get cm -w', /seen-3/);
    await kubectl('create configmap seen-3 --from-literal=a=b');
    assert.match(await table, /^NAME\s+DATA\s+AGE/);
  });

  it('creates by its own generators', async () => {
    await kubectl('create namespace made');
    await kubectl('create secret generic made --from-literal=password=hush');
    await kubectl('create serviceaccount made');
    await kubectl('create role made --verb=get --resource=pods');
    await kubectl('create rolebinding made --role=made --serviceaccount=default:made');
    assert.equal(await kubectl('get secret made -o jsonpath={.data.password}'), 'aHVzaA==');
    if (minor >= 24) assert.ok((await kubectl('create token made')).length > 100);
    assert.match(await refused('create namespace made'), /namespaces "made" already exists/);
  });

  it('describes', async () => {
    assert.match(await kubectl('describe pvc data'), /Status:\s+Pending/);
    assert.match(await kubectl('describe pod web'), /ClaimName:\s+data/);
    assert.match(await kubectl('describe namespace default'), /Status:\s+Active/);
    assert.match(await kubectl('describe secret made'), /password:\s+4 bytes/);
  });

  it('explains', async () => {
    assert.match(await kubectl('explain pvc.spec.storageClassName'), /FIELD:\s+storageClassName <string>/);
    if (minor >= 27)
      assert.match(await kubectl('explain pvc.spec --output plaintext-openapiv2'), /storageClassName/);
    assert.match(await kubectl('explain volumeattachment.spec.source --recursive'), /persistentVolumeName/);
  });

  it('patches in three ways', async () => {
    const patch = (type: string, text: string) =>
      run(['patch', 'pod', 'web', '--type', type, '-p', text]).then(({ code, stderr }) =>
        assert.equal(code, 0, stderr),
      );
    await patch('merge', '{"metadata":{"annotations":{"by":"merge"}}}');
    assert.equal(await kubectl('get pod web -o jsonpath={.metadata.annotations.by}'), 'merge');
    await patch('json', '[{"op":"replace","path":"/metadata/annotations/by","value":"json"}]');
    assert.equal(await kubectl('get pod web -o jsonpath={.metadata.annotations.by}'), 'json');
    await patch('strategic', '{"spec":{"containers":[{"name":"main","image":"busybox:2"}]}}');
    assert.equal(await kubectl('get pod web -o jsonpath={.spec.containers[0].image}'), 'busybox:2');
    assert.equal(
      await kubectl('get pod web -o jsonpath={.spec.containers[0].volumeMounts[0].mountPath}'),
      '/data',
    );
    const conflicting = await run([
      'patch',
      'pvc',
      'data',
      '-p',
      '{"spec":{"accessModes":["ReadOnlyMany"]}}',
    ]);
    assert.match(conflicting.stderr, /spec: Forbidden: spec is immutable/);
  });

  it('labels, annotates, replaces', async () => {
    assert.equal(await kubectl('label pod web tier=front'), 'pod/web labeled\n');
    assert.match(await refused('label pod web tier=back'), /already has a value/);
    assert.match(await kubectl('label pod web tier-'), /^pod\/web (un)?labeled$/m);
    assert.equal(await kubectl('get pod web -o jsonpath={.metadata.labels.tier}'), '');
    assert.match(await kubectl('annotate pod web note=yes --overwrite'), /^pod\/web annotated?$/m);
    assert.equal(await kubectl('get pod web -o jsonpath={.metadata.annotations.note}'), 'yes');
    const secret = await kubectl('get secret made -o json');
    const replaced = await kubectl('replace -f -', secret.replace('aHVzaA==', 'bmV3'));
    assert.equal(replaced, 'secret/made replaced\n');
    assert.match(await refused('replace -f -', secret), /the object has been modified/);
  });

  it('scales', async () => {
    const set = `
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  replicas: 1
  serviceName: db
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec: { containers: [{ name: main, image: busybox }] }
`;
    await kubectl('apply -f -', set);
    assert.match(await kubectl('scale statefulset db --replicas=3'), /scaled/);
    assert.equal(await kubectl('get statefulset db -o jsonpath={.spec.replicas}'), '3');
    assert.match(
      await refused('scale statefulset db --current-replicas=1 --replicas=5'),
      /Expected replicas to be 1/i,
    );
    await kubectl('delete statefulset db');
  });

  it('edits through an editor', async () => {
    const editor = join(dir, 'editor.sh');
    await writeFile(editor, '#!/bin/sh\nsed -i "s/a: b/a: edited/" "$1"\n');
    await chmod(editor, 0o755);
    const { code, stderr } = await run(['edit', 'configmap', 'seen-1'], { env: { KUBE_EDITOR: editor } });
    assert.equal(code, 0, stderr);
    assert.equal(await kubectl('get cm seen-1 -o jsonpath={.data.a}'), 'edited');
  });

  it('deletes, and waits for finalizers', async () => {
    const held =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"held","finalizers":["example.com/hold"]}}';
    await kubectl('create -f -', held);
    const deletion = kubectl('delete cm held --wait');
    while ((await kubectl('get cm held -o jsonpath={.metadata.deletionTimestamp}')) === '');
    await run(['patch', 'cm', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    assert.match(await deletion, /configmap "held" deleted/);
    assert.match(await kubectl('delete cm seen-2 seen-3'), /"seen-3" deleted/);
    assert.match(await kubectl('delete namespace made --wait=false'), /namespace "made" deleted/);
  });

  it('waits for conditions and deletions', async () => {
    await kubectl('apply -f -', DEFINITION);
    assert.match(
      await kubectl('wait --for=condition=Established crd/gadgets.example.com --timeout=20s'),
      /condition met/,
    );
    // Older ones fail when the object is gone before they look.
    const gone = minor >= 27 ? kubectl('wait --for=delete cm/seen-1 --timeout=20s') : undefined;
    await kubectl('delete cm seen-1');
    await gone;
    if (minor >= 23) await kubectl('wait --for=jsonpath={.status.phase}=Pending pvc/data --timeout=20s');
  });

  it('works with custom kinds like with any other', async () => {
    const gadget = 'apiVersion: example.com/v1\nkind: Gadget\nmetadata: { name: g }\nspec: { size: 3 }\n';
    assert.equal(await kubectl('apply -f -', gadget), 'gadget.example.com/g created\n');
    assert.match(await kubectl('get gd'), /^NAME\s+SIZE\ng\s+3/);
    assert.match(await kubectl('explain gadget.spec'), /How large it is\./);
    assert.match(
      await refused('apply -f -', gadget.replace('size: 3', 'size: big')),
      /spec\.size(: Invalid value: "string"|\): invalid type)/,
    );
    assert.match(
      await refused('create -f -', gadget.replace('size', 'sise').replace('name: g', 'name: h')),
      /unknown field "(spec\.)?sise"/,
    );
    assert.match(await kubectl('delete crd gadgets.example.com'), /deleted/);
    // What kubectl says depends on how old its cache of the resources is.
    assert.match(
      await refused('get gadgets'),
      /doesn't have a resource type|could not find the requested resource/,
    );
  });

  it('asks what one may do, and acts as others', async () => {
    assert.equal(await kubectl('auth can-i create pods'), 'yes\n');
    const whoami = await run(['auth', 'whoami']);
    // Those before 1.28 ask for a beta of this API, and those before 1.26 not at all.
    assert.match(whoami.stdout + whoami.stderr, /kubernetes-admin|API is not enabled|unknown command/);
    const cannot = await run([
      'auth',
      'can-i',
      'delete',
      'pods',
      '--as',
      'system:serviceaccount:default:made',
    ]);
    assert.equal(cannot.stdout, 'no\n');
    assert.equal(await kubectl('auth can-i get pods --as system:serviceaccount:default:made'), 'yes\n');
    assert.match(
      await refused('get secrets --as jane'),
      /secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "default"/,
    );
    assert.match(
      await kubectl('auth can-i --list --as system:serviceaccount:default:made'),
      /pods\s+\[\]\s+\[\]\s+\[get\]/,
    );
  });

  it('applies on the server, and names those in the way', async () => {
    const map = (value: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: shared }\ndata: { key: ${value} }\n`;
    assert.match(
      await kubectl('apply --server-side --field-manager=one -f -', map('a')),
      /serverside-applied/,
    );
    const conflict = await refused('apply --server-side --field-manager=two -f -', map('b'));
    assert.match(conflict, /Apply failed with 1 conflict: conflict with "one": \.data\.key/);
    await kubectl('apply --server-side --field-manager=two --force-conflicts -f -', map('b'));
    assert.equal(await kubectl('get cm shared -o jsonpath={.data.key}'), 'b');
  });

  it('tries without doing', async () => {
    assert.match(await kubectl('create configmap trial --dry-run=server'), /created \(server dry run\)/);
    assert.match(await refused('get cm trial'), /not found/);
    assert.match(await kubectl('delete pod web --dry-run=server'), /deleted \(server dry run\)/);
    await kubectl('get pod web');
    const odd = CLAIM.replace('name: data', 'name: odd').replace('spec:', 'spec:\n  unheardOf: 1');
    assert.match(await refused('apply -f -', odd), /unknown field "(spec\.)?unheardOf"/);
    const invalid = CLAIM.replace('name: data', 'name: Odd_Name').replace('[ReadWriteOnce]', '[]');
    const problems = await refused('apply -f -', invalid);
    assert.match(problems, /metadata\.name: Invalid value/);
    assert.match(problems, /spec\.accessModes: Required value/);
  });
});
