// Header compression: the examples of RFC 7541, what nghttp2 makes of any header, and our own two halves together.

import assert from 'node:assert/strict';
import { connect, createServer } from 'node:http2';
import { createConnection, createServer as createNetServer } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { testClock } from '../testing/test-clock.ts';
import { temporarySocket } from '../testing/test-socket.ts';
import { HeaderBlockError, HeaderDecoder } from './header-decoder.ts';
import { HeaderEncoder } from './header-encoder.ts';
import type { HeaderField } from './header-table.ts';
import { Http2Connection } from './http2-connection.ts';
import { decodeHuffman } from './huffman.ts';

const limits = { maxTableBytes: 4096, maxListBytes: 65_536 };
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const flat = (...fields: [string, string][]): string[] => fields.flat();

describe('the Huffman code', () => {
  const examples: [bytes: string, text: string][] = [
    ['f1e3 c2e5 f23a 6ba0 ab90 f4ff', 'www.example.com'],
    ['a8eb 1064 9cbf', 'no-cache'],
    ['6402', '302'],
    ['d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
    ['', ''],
  ];
  for (const [bytes, text] of examples) {
    it(`reads "${text}"`, () => assert.equal(decodeHuffman(hex(bytes)), text));
  }
  const bad: [name: string, bytes: string][] = [
    ['padding of a whole byte', 'f1e3 c2e5 f23a 6ba0 ab90 f4ff ff'],
    ['padding that is not the beginning of the end marker', 'a8eb 1064 9cb0'],
    ['the end marker', 'ffff ffff'],
  ];
  for (const [name, bytes] of bad) {
    it(`refuses ${name}`, () => assert.equal(decodeHuffman(hex(bytes)), undefined));
  }
});

describe('a header decoder', () => {
  it('reads the requests of RFC 7541, C.3 and C.4, one after the other', () => {
    const blocks = [
      ['8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d', '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff'],
      ['8286 84be 5808 6e6f 2d63 6163 6865', '8286 84be 5886 a8eb 1064 9cbf'],
      [
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    ];
    const common: [string, string][] = [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ];
    const expected = [
      flat(...common),
      flat(...common, ['cache-control', 'no-cache']),
      flat(
        [':method', 'GET'],
        [':scheme', 'https'],
        [':path', '/index.html'],
        [':authority', 'www.example.com'],
        ['custom-key', 'custom-value'],
      ),
    ];
    for (const way of [0, 1]) {
      const decoder = new HeaderDecoder(limits);
      for (const [at, block] of blocks.entries()) {
        assert.deepEqual(decoder.decode(hex(block[way] ?? '')).fields, expected[at]);
      }
    }
  });

  it('forgets what no longer fits, as in RFC 7541, C.5 and C.6', () => {
    const plain = [
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '4803 3330 37c1 c0bf',
    ];
    const decoder = new HeaderDecoder({ ...limits, maxTableBytes: 256 });
    const rest = flat(
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ['location', 'https://www.example.com'],
    );
    assert.deepEqual(decoder.decode(hex(plain[0] ?? '')).fields, [':status', '302', ...rest]);
    assert.deepEqual(decoder.decode(hex(plain[1] ?? '')).fields, [':status', '307', ...rest]);
    // ":status: 302" was the oldest and is gone.
    assert.throws(() => decoder.decode(hex('c2')), HeaderBlockError);
  });

  const bad: [name: string, block: string][] = [
    ['number 0', '80'],
    ['a number that is not in the table', 'be'],
    ['a text that is cut short', '40 03 61'],
    ['a number that is cut short', 'ff'],
    ['a number without end', 'ff ff ff ff ff ff ff 01'],
    ['a block that ends in the middle', '40'],
    ['a table larger than allowed', '3f e2 1f'],
    ['a table that changes in the middle', '82 20'],
    ['a text that is not in the Huffman code', '40 81 00 81 00'],
  ];
  for (const [name, block] of bad) {
    it(`refuses ${name}`, () => {
      assert.throws(() => new HeaderDecoder(limits).decode(hex(block)), HeaderBlockError);
    });
  }

  it('leaves out headers beyond the limit, and remembers them all the same', () => {
    const decoder = new HeaderDecoder({ maxTableBytes: 4096, maxListBytes: 80 });
    const { fields, isTooLong } = decoder.decode(hex('4001 6101 6240 0163 0164 4001 6501 66'));
    assert.deepEqual([fields, isTooLong], [['a', 'b', 'c', 'd'], true]);
    assert.deepEqual(decoder.decode(hex('be')).fields, ['e', 'f']);
  });

  it('reads or refuses any bytes, and nothing else happens', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      try {
        new HeaderDecoder(limits).decode(Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof HeaderBlockError, String(error));
      }
    });
    fc.assert(property, { numRuns: 3000 });
  });
});

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/);
const value = fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/);
const field = fc.record({ name, value }, { noNullPrototype: true });

describe('a header encoder', () => {
  it('is understood by our decoder, whatever was said before and however small the table becomes', () => {
    const step = fc.record({
      known: fc.array(fc.nat({ max: 7 }), { maxLength: 8 }),
      once: fc.array(field, { maxLength: 3 }),
      resize: fc.option(fc.constantFrom(0, 60, 100, 4096, 100_000)),
    });
    const property = fc.property(
      fc.array(field, { minLength: 8, maxLength: 8 }),
      fc.array(step, { maxLength: 20 }),
      (fields, steps) => {
        const encoder = new HeaderEncoder();
        const decoder = new HeaderDecoder(limits);
        for (const { known, once, resize } of steps) {
          if (resize !== null) encoder.resize(resize);
          const chosen = known.map((at) => fields[at] as HeaderField);
          const { fields: read } = decoder.decode(encoder.encode(chosen, once));
          assert.deepEqual(
            read,
            [...chosen, ...once].flatMap((each) => [each.name, each.value]),
          );
        }
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it('says in one byte what it has said before', () => {
    const encoder = new HeaderEncoder();
    const known = [
      { name: ':method', value: 'POST' },
      { name: ':path', value: '/csi.v1.Controller/CreateVolume' },
      { name: 'te', value: 'trailers' },
    ];
    assert.ok(encoder.encode(known).length > 40);
    assert.equal(encoder.encode(known).length, 3);
  });
});

describe('headers and nghttp2', () => {
  it('mean the same in both directions, whatever they are', async (context) => {
    const lists = fc.sample(fc.uniqueArray(field, { maxLength: 10, selector: (each) => each.name }), {
      numRuns: 60,
      seed: 7,
    });
    const usable = lists.map((list) => list.filter((each) => !forbidden.has(each.name)));
    const path = await temporarySocket(context);
    const received: string[][] = [];
    // Ours answers with what it was told.
    const server = createNetServer((socket) => {
      const connection: Http2Connection = new Http2Connection({
        socket,
        clock: testClock,
        accept: (stream) => ({
          headers(fields) {
            received.push([...fields]);
            const once = pairs(fields).filter((each) => !each.name.startsWith(':'));
            connection.sendHeaders(stream, { known: [{ name: ':status', value: '200' }], once, isEnd: true });
          },
          data() {},
          aborted() {},
        }),
        onLeaving() {},
        onClosed() {},
      });
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    context.after(() => server.close());
    const client = connect('http://localhost', { createConnection: () => createConnection(path) });
    context.after(() => client.destroy());
    for (const list of usable) {
      const headers = Object.fromEntries(list.map((each) => [each.name, each.value]));
      const answer = await new Promise<Record<string, unknown>>((resolve, reject) => {
        const stream = client.request({ ':path': '/x', ...headers }, { endStream: true });
        stream.on('response', resolve).on('error', reject);
      });
      for (const each of list) assert.equal(String(answer[each.name]), each.value);
    }
    assert.deepEqual(
      received.map((fields) => pairs(fields).filter((each) => !each.name.startsWith(':'))),
      usable,
    );
  });

  it('mean the same when a server of theirs has a small table', async (context) => {
    const path = await temporarySocket(context);
    const server = createServer({ settings: { headerTableSize: 128 } });
    const seen: string[] = [];
    server.on('stream', (stream, headers) => {
      seen.push(String(headers['x-text']));
      stream.respond({ ':status': 200 }, { endStream: true });
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    context.after(() => server.close());
    const texts = Array.from({ length: 20 }, (_, at) => ({ name: 'x-text', value: `${at % 5}`.repeat(30) }));
    const head = [':method', ':scheme', ':path', ':authority'].map((each, at) => ({
      name: each,
      value: ['GET', 'http', '/', 'x'][at] ?? '',
    }));
    const socket = createConnection(path);
    context.after(() => socket.destroy());
    const connection: Http2Connection = await new Promise((resolve) => {
      const made: Http2Connection = new Http2Connection({
        socket,
        clock: testClock,
        onReady: () => resolve(made),
        onLeaving() {},
        onClosed() {},
      });
    });
    const known = texts.slice(0, 5);
    for (let at = 0; at < 20; at++) {
      await new Promise<void>((resolve, reject) => {
        const stream = connection.open({
          headers: () => resolve(),
          data() {},
          aborted: (why) => reject(new Error(why.text)),
        });
        connection.sendHeaders(stream, { known: [...head, known[at % 5] as HeaderField], isEnd: true });
      });
    }
    assert.deepEqual(
      seen,
      texts.map((each) => each.value),
    );
  });
});

/** Names that nghttp2 or Node treat in a way of their own. */
const forbidden = new Set([
  'connection',
  'upgrade',
  'host',
  'te',
  'cookie',
  'keep-alive',
  'expect',
  'date',
  'content-length',
  'age',
]);

function pairs(fields: readonly string[]): { name: string; value: string }[] {
  return Array.from({ length: fields.length / 2 }, (_, at) => ({
    name: fields[2 * at] as string,
    value: fields[2 * at + 1] as string,
  }));
}
