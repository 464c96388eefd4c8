// Completion: what the shell is offered, with names from a real API server.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { namespaces, persistentVolumeClaims } from '../api/kinds.ts';
import { createApiServer } from '../apiserver/index.ts';
import { memoryLog } from '../runtime/log/log.ts';
import { seededRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { commands } from './commands.ts';
import { runCommand } from './run-command.ts';

const BERTH = fileURLToPath(new URL('../../bin/berth', import.meta.url));

async function run(argv: string[], env: Record<string, string> = {}) {
  const out: string[] = [];
  const code = await runCommand({
    argv,
    commands,
    signal: new AbortController().signal,
    stdout: { write: (text) => out.push(text) },
    stderr: { write: () => {} },
    env,
    createLog: async () => memoryLog(),
  });
  return { code, lines: out.join('').split('\n').slice(0, -1) };
}
const offered = async (words: string[], env?: Record<string, string>): Promise<string[]> =>
  (await run(['complete', '--', ...words], env)).lines;

test('commands, flags and kinds without a cluster', async () => {
  const none = { KUBECONFIG: '/nonexistent' };
  assert.deepEqual(await offered(['tr'], none), ['trace', 'try']);
  assert.deepEqual(await offered(['complet'], none), ['completion']);
  assert.deepEqual(await offered(['trace', '--ca'], none), ['--calls']);
  assert.deepEqual(await offered(['why', 'p'], none), ['pod', 'pvc', 'pv']);
  assert.deepEqual(await offered(['completion', 'z'], none), ['zsh']);
  // A cluster that is not there is no error: the shell could not show it.
  assert.deepEqual(await offered(['why', 'pod', ''], none), []);
  assert.deepEqual(await offered(['nonsense', ''], none), []);
});

test('names of objects, in the namespace that was given', async (t) => {
  const kubeconfigPath = join(await mkdtemp(join(tmpdir(), 'c-')), 'kubeconfig');
  const server = await createApiServer({
    clock: realClock,
    random: seededRandom('completion'),
    log: memoryLog(),
    host: '127.0.0.1',
    port: 0,
    kubeconfigPath,
  });
  t.after(() => server.stop());
  const admin = server.client(server.adminUser);
  await admin.create(namespaces, { metadata: { name: 'shop' } });
  for (const [namespace, name] of [
    ['default', 'data'],
    ['default', 'logs'],
    ['shop', 'orders'],
  ] as const) {
    await admin.create(persistentVolumeClaims, {
      metadata: { name, namespace },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
    });
  }
  const env = { KUBECONFIG: kubeconfigPath };
  assert.deepEqual(await offered(['why', 'pvc', ''], env), ['data', 'logs']);
  assert.deepEqual(await offered(['why', '-n', 'shop', 'pvc', 'o'], env), ['orders']);
  assert.deepEqual(await offered(['trace', 'pvc/d'], env), ['pvc/data']);
  assert.deepEqual(await offered(['get', 'persistentvolumeclaims', 'l'], env), ['logs']);
  assert.deepEqual(await offered(['get', 'persistentvolumec'], env), ['persistentvolumeclaims']);
});

test('bash takes the script, and it completes', async () => {
  const { code, lines } = await run(['completion', 'bash']);
  assert.equal(code, 0);
  const script = [
    `berth() { "${process.execPath}" "${BERTH}" "$@"; }`,
    ...lines,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is for bash
    'COMP_WORDS=(berth why p); COMP_CWORD=2; _berth; printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n');
  const out = await new Promise<string>((resolve, reject) => {
    execFile('bash', ['-c', script], (error, stdout) => (error ? reject(error) : resolve(stdout)));
  });
  assert.equal(out, 'pod\npvc\npv\n');
  assert.equal((await run(['completion', 'tcsh'])).code, 2);
});
