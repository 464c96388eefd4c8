import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printableOutput } from './printable-output.ts';
import { Terminal } from './terminal.ts';

const ERASE = '\r\u001b[K';

function streams() {
  const written: string[] = [];
  const stream = { isTTY: true, columns: 80, write: (text: string) => written.push(text) };
  return { written, stream };
}

test('other output goes above the status line, whichever stream it is written to', () => {
  const { written, stream } = streams();
  const terminal = new Terminal();
  const [stdout, stderr] = [terminal.of(stream), terminal.of(stream)].map((each) =>
    printableOutput(each, {}),
  );
  stdout?.redraw('claims 1/1 bound');
  stderr?.write('WARN slow\n');
  stdout?.redraw('');
  stderr?.write('done\n');
  assert.deepEqual(written, [
    `${ERASE}claims 1/1 bound`,
    `${ERASE}WARN slow\nclaims 1/1 bound`,
    ERASE,
    'done\n',
  ]);
});

test('a stream that is no terminal is left as it is', () => {
  const stream = { write: () => true };
  assert.equal(new Terminal().of(stream), stream);
});

test('colours on a terminal, unless NO_COLOR is set or it can do nothing', () => {
  const pieces = [
    { text: 'STUCK', tone: 'bad' },
    { text: '  a\u001b[31mb  ', tone: 'plain' },
  ] as const;
  const shown = (env: Record<string, string>, isTTY = true): string => {
    const { written, stream } = streams();
    printableOutput({ ...stream, isTTY }, env).line(pieces);
    return written.join('');
  };
  const plain = 'STUCK  a\\u001b[31mb\n';
  assert.equal(shown({}), `\u001b[31mSTUCK\u001b[0m  a\\u001b[31mb\n`);
  assert.equal(shown({ NO_COLOR: '1' }), plain);
  assert.equal(shown({ TERM: 'dumb' }), plain);
  assert.equal(shown({}, false), plain);
});
