// Completion: what the shell is offered, with names from a real API server.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lacking } from '../../test/capabilities.ts';
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

const execute = (program: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(program, args, (error, stdout) => (error ? reject(error) : resolve(stdout)));
  });

test('zsh completes with the script, at a terminal', { skip: lacking('zsh') }, async () => {
  const script = await written('zsh');
  // An interactive shell of its own, whose `compadd` prints what it is given.
  const out = await execute('zsh', [
    '-f',
    '-c',
    [
      'zmodload zsh/zpty; zpty inner zsh -f -i',
      "zpty -w inner 'PS1=; autoload -Uz compinit; compinit -u -D'",
      `zpty -w inner 'berth() { "${process.execPath}" "${BERTH}" "$@" }'`,
      `zpty -w inner 'source "${script}"'`,
      `zpty -w inner 'compadd() { print -r -- "OFFERED:\${(j:,:)@[2,-1]}:" }'`,
      "zpty -w -n inner $'berth why p\\t'",
      'while zpty -r inner line; do [[ $line == *OFFERED:p* ]] && { print -r -- $line; break }; done; zpty -d inner',
    ].join('\n'),
  ]);
  assert.match(out, /OFFERED:pod,pvc,pv:/);
});

test('fish completes with the script, and files only where there is no candidate', {
  skip: lacking('fish'),
}, async () => {
  const script = await written('fish');
  const offers = async (line: string): Promise<string[]> => {
    const setUp = `function berth; "${process.execPath}" "${BERTH}" $argv; end; source "${script}"`;
    const out = await execute('fish', ['--no-config', '-c', `${setUp}; complete -C '${line}'`]);
    return out.split('\n').slice(0, -1).toSorted();
  };
  assert.deepEqual(await offers('berth why p'), ['pod', 'pv', 'pvc']);
  assert.deepEqual(await offers(`berth apply -f ${script.slice(0, -1)}`), [script]);
});

/** The script in a file. */
async function written(shell: string): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'c-')), `berth.${shell}`);
  const { lines } = await run(['completion', shell]);
  await writeFile(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}

test('bash takes the script, and it completes', async () => {
  const { code, lines } = await run(['completion', 'bash']);
  assert.equal(code, 0);
  const script = [
    `berth() { "${process.execPath}" "${BERTH}" "$@"; }`,
    ...lines,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is for bash
    'COMP_WORDS=(berth why p); COMP_CWORD=2; _berth; printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n');
  assert.equal(await execute('bash', ['-c', script]), 'pod\npvc\npv\n');
  assert.equal((await run(['completion', 'tcsh'])).code, 2);
});
