import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HEADER_BYTES } from '../http2/frame.ts';
import {
  decodeText,
  encodeText,
  formatTimeout,
  parseTimeout,
  readAnswer,
  statusHeaders,
  statusOfFailure,
  statusOfHttp,
} from './call-headers.ts';
import { MESSAGE_HEADROOM, type MessageFault, MessageReader, prefixMessage } from './message-framing.ts';

describe('the time limit of a call', () => {
  const written: [ms: number, text: string][] = [
    [1, '1m'],
    [0.2, '1m'],
    [-5, '1m'],
    [1500.4, '1501m'],
    [99_999_999, '99999999m'],
    [100_000_000, '100000S'],
    [1e15, '99999999S'],
  ];
  for (const [ms, text] of written) it(`of ${ms} ms is ${text}`, () => assert.equal(formatTimeout(ms), text));

  const read: [text: string, ms: number | undefined][] = [
    ['10m', 10],
    ['3S', 3000],
    ['2M', 120_000],
    ['1H', 3_600_000],
    ['500u', 0.5],
    ['1000000n', 1],
    ['123456789m', undefined],
    ['5', undefined],
    ['-5m', undefined],
    ['5x', undefined],
    ['', undefined],
  ];
  for (const [text, ms] of read) it(`"${text}" is ${ms} ms`, () => assert.equal(parseTimeout(text), ms));
});

describe('the text of a status', () => {
  const texts: [text: string, written: string][] = [
    ['plain text, with "quotes"', 'plain text, with "quotes"'],
    ['100 %', '100 %25'],
    ['a\nb', 'a%0Ab'],
    ['ü', '%C3%BC'],
    ['', ''],
  ];
  for (const [text, written] of texts) {
    it(`${JSON.stringify(text)} travels as ${written}`, () => {
      assert.equal(encodeText(text), written);
      assert.equal(decodeText(written), text);
    });
  }

  it('arrives as it was, whatever it was', () => {
    const property = fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const written = encodeText(text);
      assert.match(written, /^[ -~]*$/);
      assert.equal(decodeText(written), text);
    });
    fc.assert(property);
  });

  it('is read as far as it can be when it is written wrongly', () => {
    assert.equal(decodeText('50% off %zz %4'), '50% off %zz %4');
    assert.equal(decodeText('%FF%41'), '\ufffdA');
  });
});

describe('the end of a call', () => {
  const flat = (status: Parameters<typeof statusHeaders>[0]): string[] => {
    const { known, once } = statusHeaders(status);
    return [...known, ...once].flatMap(({ name, value }) => [name, value]);
  };

  it('is read as it was written', () => {
    const details = Uint8Array.of(1, 2, 3, 4);
    for (const code of [0, 5, 16, 17, 42]) {
      const { status } = readAnswer(flat({ code, text: 'größer', details }));
      assert.deepEqual([status?.code, status?.text, status?.isOurs], [code, 'größer', false]);
      assert.deepEqual([...(status?.details ?? [])], [...details]);
    }
    assert.deepEqual(flat({ code: 0 }), ['grpc-status', '0']);
  });

  it('without a status of its own is told from the answer around it, as our own word', () => {
    assert.equal(readAnswer([':status', '200', 'content-type', 'text/html']).status, undefined);
    const codes = ['400', '401', '403', '404', '429', '502', '503', '504', '200', '500'].map(
      (http) => statusOfHttp(http, undefined).code,
    );
    assert.deepEqual(codes, [13, 16, 7, 12, 14, 14, 14, 14, 2, 2]);
    const failures = [
      statusOfFailure({ kind: 'reset', code: 8, text: '' }),
      statusOfFailure({ kind: 'reset', code: 11, text: '' }),
      statusOfFailure({ kind: 'reset', code: 2, text: '' }),
      statusOfFailure({ kind: 'refused', code: 7, text: '' }),
      statusOfFailure({ kind: 'lost', code: 0, text: '' }),
    ];
    assert.deepEqual(
      failures.map(({ code, isOurs }) => [code, isOurs]),
      [1, 8, 13, 14, 14].map((code) => [code, true]),
    );
    assert.equal(readAnswer(['grpc-status', 'nonsense']).status?.code, 2);
  });
});

describe('messages in data', () => {
  const framed = (body: Uint8Array): Buffer => {
    const buffer = Buffer.concat([Buffer.alloc(MESSAGE_HEADROOM), body]);
    prefixMessage(buffer);
    return buffer.subarray(HEADER_BYTES);
  };

  it('are found again however they were cut', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 6 });
    const property = fc.property(bodies, fc.array(fc.nat({ max: 12 })), (messages, cuts) => {
      const bytes = Buffer.concat(messages.map(framed));
      const read: number[][] = [];
      const reader = new MessageReader(30, (message) => read.push([...message]));
      let at = 0;
      for (const cut of [...cuts, bytes.length]) {
        assert.equal(reader.push(bytes.subarray(at, at + cut)), undefined);
        at = Math.min(bytes.length, at + cut);
      }
      assert.equal(reader.end(), undefined);
      assert.deepEqual(
        read,
        messages.map((message) => [...message]),
      );
    });
    fc.assert(property, { numRuns: 500 });
  });

  const faults: [fault: MessageFault, bytes: Buffer][] = [
    ['too long', framed(Buffer.alloc(31))],
    ['compressed', Buffer.from([1, 0, 0, 0, 0])],
    ['cut short', framed(Buffer.alloc(30)).subarray(0, 20)],
  ];
  for (const [fault, bytes] of faults) {
    it(`are refused when they are ${fault}`, () => {
      const reader = new MessageReader(30, () => assert.fail('a message'));
      assert.equal(reader.push(bytes) ?? reader.end(), fault);
    });
  }
});
