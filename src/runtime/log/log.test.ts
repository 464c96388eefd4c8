import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { KubeError } from '../kube/kube-error.ts';
import type { LogFields } from '../ports.ts';
import { createLog, memoryLog } from './log.ts';
import { secretValue } from './secret-value.ts';

const SECRET = 'hunter2-do-not-show';
const clock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) };

function sink(): { write(text: string): void; text: string } {
  return {
    text: '',
    write(text: string) {
      this.text += text;
    },
  };
}

describe('SecretValue', () => {
  const secret = secretValue(SECRET);
  const shown: [string, () => string][] = [
    ['template', () => `${secret}`],
    ['concatenation', () => `a ${secret as unknown as string}`],
    ['String()', () => String(secret)],
    ['JSON', () => JSON.stringify({ deep: [{ secret }] })],
    ['inspect', () => inspect({ deep: [{ secret }] }, { depth: 10, showHidden: true, getters: true })],
    ['error message', () => new Error(`cannot use ${secret}`).stack ?? ''],
    ['spread', () => JSON.stringify({ ...(secret as object) }) + String(Object.values(secret))],
  ];
  for (const [name, text] of shown) {
    it(`does not show in ${name}`, () => assert.ok(!text().includes(SECRET), text()));
  }
  it('reveals its content', () => assert.equal(secret.reveal(), SECRET));
});

describe('createLog', () => {
  const carriers: [string, LogFields][] = [
    ['field', { secret: secretValue(SECRET) }],
    ['nested', { a: { b: [{ c: secretValue(SECRET) }] } }],
    ['map and set', { map: new Map([['k', secretValue(SECRET)]]), set: new Set([secretValue(SECRET)]) }],
    ['map key', { map: new Map([[secretValue(SECRET), 1]]) }],
    ['bytes', { bytes: Buffer.from(SECRET) }],
    ['error property', { err: Object.assign(new Error('x'), { body: SECRET, request: { body: SECRET } }) }],
    ['error cause', { err: new Error('x', { cause: { secret: secretValue({ password: SECRET }) } }) }],
    ['secret of an object', { secret: secretValue({ password: SECRET }) }],
  ];
  for (const format of ['json', 'text'] as const) {
    for (const [name, fields] of carriers) {
      it(`does not show a secret in ${name} (${format})`, () => {
        const stream = sink();
        const log = createLog({ clock, stream, format, verbosity: 5 });
        log.info('message', fields);
        log.v(5).info('message', fields);
        log.with(fields).warn('message');
        log.error('message', fields.err ?? fields, fields);
        assert.equal(stream.text.trim().split('\n').length, 4);
        assert.ok(!stream.text.includes(SECRET), stream.text);
      });
    }
  }

  it('writes JSON lines with level, time, verbosity and fields', () => {
    const stream = sink();
    const log = createLog({ clock, stream, format: 'json', verbosity: 4 }).with({ driver: 'd' });
    log.v(4).info('hello', { n: 1, big: 5n });
    assert.deepEqual(JSON.parse(stream.text), {
      level: 'info',
      time: '2026-01-02T03:04:05.678Z',
      v: 4,
      driver: 'd',
      n: 1,
      big: '5',
      msg: 'hello',
    });
  });

  it('writes errors with code, reason and causes', () => {
    const stream = sink();
    const log = createLog({ clock, stream, format: 'json' });
    const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    log.error('failed', new KubeError({ reason: 'Unreachable', code: 0, message: 'no answer', cause }));
    const { err } = JSON.parse(stream.text);
    assert.equal(err.reason, 'Unreachable');
    assert.equal(err.message, 'no answer');
    assert.equal(err.cause.code, 'ECONNREFUSED');
    log.error('failed', 'just text');
    assert.match(stream.text, /just text/);
  });

  it('writes one readable line each for people', () => {
    const stream = sink();
    const log = createLog({ clock, stream: Object.assign(stream, { isTTY: true }) });
    log.error('Failed', new Error('outer\nsecond', { cause: new Error('inner') }), {
      key: 'ns/a',
      why: 'a b',
    });
    assert.equal(stream.text, '03:04:05.678 ERROR Failed key=ns/a why="a b" err="outer\\nsecond: inner"\n');
  });

  it('keeps to its verbosity', () => {
    const stream = sink();
    const log = createLog({ clock, stream, format: 'text', verbosity: 2 });
    assert.equal(log.v(3).enabled, false);
    assert.equal(log.v(2).enabled, true);
    log.v(3).info('hidden');
    log.v(2).info('shown');
    assert.match(stream.text, /shown/);
    assert.doesNotMatch(stream.text, /hidden/);
  });

  it('survives a getter that throws, and shows the rest', () => {
    const stream = sink();
    const fields = {
      get bad() {
        throw new Error('a bug');
      },
      good: 1,
    };
    createLog({ clock, stream, format: 'text' }).info('hi', fields);
    assert.match(stream.text, /hi bad="\[unreadable\]" good=1\n$/);
  });

  it('survives cycles and odd values', () => {
    const stream = sink();
    const log = createLog({ clock, stream, format: 'json' });
    const cyclic: Record<string, unknown> = {
      f: () => {},
      s: Symbol('s'),
      u: undefined,
      d: new Date(Number.NaN),
    };
    cyclic.self = cyclic;
    const error = new Error('loop');
    error.cause = error;
    log.error('odd', error, { cyclic, list: new Array(1000).fill(1) });
    const line = JSON.parse(stream.text);
    assert.equal(line.cyclic.self, '[circular]');
    assert.equal(line.err.cause, '[circular]');
    assert.equal(line.list.length, 101);
  });
});

it('shows no secret, wherever in a value it sits', () => {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constant(secretValue(SECRET)),
      fc.constant(secretValue({ password: [SECRET] })),
      fc.constant(Buffer.from(SECRET)),
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 }),
      tie('value').map((inner) => new Map([['key', inner]])),
      tie('value').map((inner) => new Set([inner])),
      tie('value').map((inner) => ({ toJSON: () => inner })),
      tie('value').map((inner) => new Error('outer', { cause: inner })),
      tie('value').map((inner) => Object.assign(new Error('outer'), { response: inner, body: SECRET })),
      tie('value').map((inner) => new AggregateError([inner], 'several')),
      tie('value').map((inner) => ({
        get throws() {
          throw new Error(`with ${inner}`);
        },
        inner,
      })),
    ),
  }));
  fc.assert(
    fc.property(value, (given) => {
      for (const format of ['json', 'text'] as const) {
        const stream = sink();
        const log = createLog({ clock, stream, format });
        log.info('message', { given });
        log.error('message', given);
        assert.equal(stream.text.split('\n').length, 3);
        assert.ok(!stream.text.includes(SECRET), stream.text);
      }
    }),
  );
});

describe('memoryLog', () => {
  it('keeps the last lines, safe to show', () => {
    const log = memoryLog({ limit: 10, verbosity: 3 });
    for (let i = 0; i < 100; i++) log.info(`line ${i}`, { secret: secretValue(SECRET) });
    log.v(4).info('hidden');
    assert.ok(log.lines.length < 20);
    assert.equal(log.lines.at(-1)?.message, 'line 99');
    assert.ok(!log.text().includes(SECRET));
  });
});
