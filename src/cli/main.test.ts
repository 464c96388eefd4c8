// The process itself: signals, exit codes, pipes. Each case is a child process that runs `main`.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

const main = new URL('./main.ts', import.meta.url).href;

/** Runs `berth case` where the command's body is `body`. */
function start(body: string): ChildProcess {
  const script = `
    const { main } = await import(${JSON.stringify(main)});
    const command = { summary: 'A case', flags: {}, run: async ({ signal, stdout, stderr, log }) => { ${body} } };
    await main(['case'], { case: { group: 'Test', load: async () => ({ command }) } });
  `;
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function ending(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  const texts = { out: '', err: '' };
  child.stdout?.on('data', (chunk) => {
    texts.out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    texts.err += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, ...texts };
}

const untilStopped =
  "await new Promise((resolve) => { signal.addEventListener('abort', resolve); stdout.write('up\\n'); })";

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} lets the command clean up`, async () => {
    const child = start(`setInterval(() => {}, 1000); ${untilStopped}; stdout.write('clean\\n');`);
    child.stdout?.once('data', () => child.kill(signal));
    const { code, out } = await ending(child);
    assert.deepEqual({ code, clean: out.endsWith('clean\n') }, { code: 0, clean: true });
  });
}

test('a second signal ends a command that does not', async () => {
  const child = start(`signal.onabort = () => stdout.write('again\\n'); setInterval(() => {}, 1000);
    stdout.write('up\\n'); await new Promise(() => {});`);
  child.stdout?.on('data', () => child.kill('SIGTERM'));
  assert.equal((await ending(child)).code, 130);
});

test('a handle that a command forgot does not keep the process, and all output arrives', async () => {
  const child = start(
    "setInterval(() => {}, 1000); stdout.write('x'.repeat(1_000_000)); throw new Error('no luck');",
  );
  const { code, out, err } = await ending(child);
  assert.equal(code, 1);
  assert.equal(out.length, 1_000_000);
  assert.equal(err, 'berth case: no luck\n');
});

for (const output of ['stdout', 'stderr'] as const) {
  test(`a reader of ${output} that goes away is no failure, and lets the command clean up`, async () => {
    const other = output === 'stdout' ? 'stderr' : 'stdout';
    const child = start(`
      while (!signal.aborted) { ${output}.write('line\\n'.repeat(1000)); await new Promise(setImmediate); }
      for (let i = 0; i < 3; i++) { ${output}.write('cleaning up\\n'); await new Promise(setImmediate); }
      ${other}.write('clean');`);
    child[output]?.once('data', () => child[output]?.destroy());
    const { code, ...texts } = await ending(child);
    assert.deepEqual({ code, said: texts[other === 'stdout' ? 'out' : 'err'] }, { code: 0, said: 'clean' });
  });
}

test('the log goes to stderr', async () => {
  const { out, err } = await ending(start("log.info('hello', { a: 1 });"));
  assert.equal(out, '');
  assert.match(err, /hello/);
});
