import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { intFlag, stringFlag } from '../runtime/flags/flag.ts';
import { memoryLog } from '../runtime/log/log.ts';
import { type Command, defineCommand, ExitCode, UsageError } from './command.ts';
import { commands as realCommands } from './commands.ts';
import { runCommand } from './run-command.ts';

const load = (command: Command) => ({ group: 'Test', load: async () => ({ command }) });
const failing = (error: unknown) =>
  load(
    defineCommand({
      summary: 'Fail',
      flags: {},
      run: async () => {
        throw error;
      },
    }),
  );

const commands = {
  greet: load(
    defineCommand({
      summary: 'Greet someone',
      description: 'Says it to the world.',
      arguments: { usage: 'WORD [NAME]', min: 1, max: 2 },
      flags: {
        times: intFlag({ help: 'How often', default: 1, min: 1 }),
        name: stringFlag({ help: 'Whom', env: 'NAME', deprecated: 'give it as an argument' }),
      },
      async run({ flags, args, given, stdout, env, log }) {
        log.info('greeting');
        stdout.write(`${JSON.stringify([args, flags.times, flags.name, [...given], flags.v, env.NAME])}\n`);
      },
    }),
  ),
  code: load(defineCommand({ summary: 'Fail softly', flags: {}, run: async () => ExitCode.failed })),
  broken: failing(
    new Error('reading a', { cause: new Error('no such\n  file', { cause: new Error('file') }) }),
  ),
  misused: failing(new UsageError('give --a or --b')),
  text: failing('just text'),
  stopped: load(
    defineCommand({
      summary: 'Stop',
      flags: {},
      run: async ({ signal }) => signal.throwIfAborted(),
    }),
  ),
  unloadable: { group: 'Test', load: () => Promise.reject(new Error('no such module')) },
};

async function run(argv: string[], options: { env?: Record<string, string>; signal?: AbortSignal } = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const verbosities: number[] = [];
  const code = await runCommand({
    argv,
    commands,
    signal: options.signal ?? new AbortController().signal,
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    env: options.env ?? {},
    createLog: async ({ verbosity }) => {
      verbosities.push(verbosity);
      return memoryLog();
    },
  });
  return { code, out: out.join(''), err: err.join(''), verbosities };
}

describe('a command line', () => {
  const cases: { argv: string[]; env?: Record<string, string>; code: number; out?: string; err?: string }[] =
    [
      { argv: ['greet', 'hi', '--times=2', '-v=3'], code: 0, out: '[["hi"],2,null,["times","v"],3,null]\n' },
      {
        argv: ['greet', 'hi'],
        env: { NAME: 'x' },
        code: 0,
        out: '[["hi"],1,"x",["name"],0,"x"]\n',
        err: 'berth greet: --name is deprecated: give it as an argument\n',
      },
      {
        argv: ['greet'],
        code: 2,
        err: 'berth greet: expected WORD [NAME], got nothing; see berth greet --help\n',
      },
      {
        argv: ['greet', 'a', 'b', 'c'],
        code: 2,
        err: 'berth greet: unexpected argument "c", expected WORD [NAME]; see berth greet --help\n',
      },
      { argv: ['code', 'a'], code: 2, err: 'berth code: unexpected argument "a"; see berth code --help\n' },
      { argv: ['code'], code: 1 },
      {
        argv: ['greet', '--tims=2'],
        code: 2,
        err: 'berth greet: unknown flag --tims; did you mean --times?; see berth greet --help\n',
      },
      { argv: ['broken'], code: 1, err: 'berth broken: reading a: no such file\n' },
      { argv: ['text'], code: 1, err: 'berth text: just text\n' },
      { argv: ['misused'], code: 2, err: 'berth misused: give --a or --b; see berth misused --help\n' },
      { argv: ['gret'], code: 2, err: 'berth: gret is not a command; did you mean greet?\n' },
      {
        argv: ['constructor'],
        code: 2,
        err: 'berth: constructor is not a command; `berth help` lists them\n',
      },
      { argv: ['gr'], code: 2, err: 'berth: gr is not a command; did you mean greet?\n' },
      {
        argv: ['unload'],
        code: 2,
        err: 'berth: unload is not a command; did you mean unloadable?\n',
      },
    ];
  for (const { argv, env, code, out = '', err = '' } of cases) {
    test(`berth ${argv.join(' ')} → ${code}`, async () => {
      const result = await run(argv, env === undefined ? {} : { env });
      assert.deepEqual({ code: result.code, out: result.out, err: result.err }, { code, out, err });
    });
  }
});

test('an unexpected error shows its stack and its causes with -v=4', async () => {
  const { err } = await run(['broken', '-v=4']);
  assert.match(err, /^berth broken: reading a: no such file\n/);
  assert.match(err, /run-command\.test\.ts[\s\S]*caused by Error: no such/);
});

test('a command that ends on its signal exits with 0', async () => {
  const signal = AbortSignal.abort();
  assert.equal((await run(['stopped'], { signal })).code, ExitCode.ok);
  assert.equal((await run(['broken'], { signal })).code, ExitCode.failed);
});

for (const argv of [
  ['greet', '--help'],
  ['greet', '--times=x', '-h'],
  ['help', 'greet'],
]) {
  test(`berth ${argv.join(' ')} prints the command's help`, async () => {
    const { code, out } = await run(argv);
    assert.equal(code, 0);
    assert.match(
      out,
      /^Greet someone\.\n\nSays it to the world\.\n\nUsage: berth greet WORD \[NAME\] \[flags\]\n/,
    );
    assert.match(out, /--times int\n {6}How often \(default 1\)/);
    assert.match(out, /Logging:\n {2}-v int/);
  });
}

test('help asked for behind -- is an argument', async () => {
  assert.equal((await run(['greet', '--', '--help'])).out, '[["--help"],1,null,[],0,null]\n');
});

test('the list of commands comes on demand, and without a command as a mistake', async () => {
  const asked = await run(['help']);
  assert.equal(asked.code, ExitCode.ok);
  assert.match(asked.out, /^ {2}greet {7}Greet someone$/m);
  assert.match(asked.out, /^ {2}unloadable {2}\(not available: no such module\)$/m);
  const unasked = await run([]);
  assert.equal(unasked.code, ExitCode.usage);
  assert.equal(unasked.err, asked.out);
});

test('every command has a --version flag, and -V', async () => {
  for (const flag of ['--version', '-V']) {
    assert.match((await run(['code', flag])).out, /^berth \d+\.\d+\.\d+\n$/);
  }
});

test('every real command loads and has help', async () => {
  for (const [name, row] of Object.entries(realCommands)) {
    const { command } = await row.load();
    assert.ok(command.summary.length > 0, name);
    assert.ok(!command.summary.endsWith('.'), `${name}: the summary is a phrase, help adds the full stop`);
  }
});
