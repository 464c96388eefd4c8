// Answers as servers send them, cut at every place where a network can cut them, and everything that is no answer.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { AnswerParser } from './answer-parser.ts';

interface Heard {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  body: string;
  whole: boolean;
  keepAlive?: boolean;
}

/** What a parser makes of these pieces; `closed` tells it that nothing more comes. */
function parse(pieces: readonly Buffer[], { method = 'GET', closed = false } = {}): Heard {
  const heard: Heard = { body: '', whole: false };
  const parser = new AnswerParser({
    onHead: ({ status, headers }) => {
      assert.equal(heard.status, undefined, 'a second head');
      Object.assign(heard, { status, headers });
    },
    onData: (bytes) => {
      assert.notEqual(bytes.length, 0);
      heard.body += bytes.toString('latin1');
    },
  });
  parser.expect(method);
  for (const piece of pieces) {
    assert.ok(!heard.whole, 'bytes after the end');
    heard.whole = parser.push(piece);
  }
  if (closed) heard.whole = parser.close();
  if (heard.whole) heard.keepAlive = parser.keepAlive;
  return heard;
}

function everySplit(text: string): Buffer[][] {
  const bytes = Buffer.from(text, 'latin1');
  const halves = Array.from({ length: bytes.length + 1 }, (_, at) => [
    bytes.subarray(0, at),
    bytes.subarray(at),
  ]);
  const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  return [[bytes], single, ...halves].map((pieces) => pieces.filter((piece) => piece.length > 0));
}

const ok = 'HTTP/1.1 200 OK\r\n';

const answers: { name: string; text: string; heard: Heard; method?: string; closed?: boolean }[] = [
  {
    name: 'a body of known length',
    text: `${ok}Content-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello`,
    heard: {
      status: 200,
      headers: { 'content-length': '5', 'content-type': 'text/plain' },
      body: 'hello',
      whole: true,
      keepAlive: true,
    },
  },
  {
    name: 'an empty body',
    text: `${ok}content-length: 0\r\n\r\n`,
    heard: { status: 200, headers: { 'content-length': '0' }, body: '', whole: true, keepAlive: true },
  },
  {
    name: 'chunks with extensions, upper and lower case sizes, and trailers',
    text: `${ok}transfer-encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\nA \r\n0123456789\r\n00\r\nx-sum: 1\r\nx: y\r\n\r\n`,
    heard: {
      status: 200,
      headers: { 'transfer-encoding': 'Chunked' },
      body: 'hello0123456789',
      whole: true,
      keepAlive: true,
    },
  },
  {
    name: 'chunks that look like line ends',
    text: `${ok}transfer-encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n`,
    heard: {
      status: 200,
      headers: { 'transfer-encoding': 'chunked' },
      body: '\r\n\r\n',
      whole: true,
      keepAlive: true,
    },
  },
  {
    name: '100 and 103 before the answer',
    text: `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\nx`,
    heard: { status: 201, headers: { 'content-length': '1' }, body: 'x', whole: true, keepAlive: true },
  },
  {
    name: '204, whatever it announces',
    text: 'HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n',
    heard: { status: 204, headers: { 'content-length': '5' }, body: '', whole: true, keepAlive: true },
  },
  {
    name: '304 without a length',
    text: 'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n',
    heard: { status: 304, headers: { etag: '"a"' }, body: '', whole: true, keepAlive: true },
  },
  {
    name: 'the answer to HEAD',
    text: `${ok}content-length: 500\r\n\r\n`,
    method: 'HEAD',
    heard: { status: 200, headers: { 'content-length': '500' }, body: '', whole: true, keepAlive: true },
  },
  {
    name: 'connection: close among others',
    text: `${ok}connection: Foo, Close\r\ncontent-length: 2\r\n\r\nab`,
    heard: {
      status: 200,
      headers: { connection: 'Foo, Close', 'content-length': '2' },
      body: 'ab',
      whole: true,
      keepAlive: false,
    },
  },
  {
    name: 'a body up to the end of the connection',
    text: `${ok}content-type: text/html\r\n\r\n<html>\r\n\r\n`,
    closed: true,
    heard: {
      status: 200,
      headers: { 'content-type': 'text/html' },
      body: '<html>\r\n\r\n',
      whole: true,
      keepAlive: false,
    },
  },
  {
    name: 'HTTP/1.0, which never keeps a connection',
    text: 'HTTP/1.0 400 Bad Request\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nno',
    heard: {
      status: 400,
      headers: { connection: 'keep-alive', 'content-length': '2' },
      body: 'no',
      whole: true,
      keepAlive: false,
    },
  },
  {
    name: 'no reason, empty values, white space around them, and a header that comes twice',
    text: 'HTTP/1.1 200\r\nContent-Length:0\r\nempty:\r\nwarning: \t 299 - "a"\t \r\nWarning: 299 - "b: c"\r\n\r\n',
    heard: {
      status: 200,
      headers: { 'content-length': '0', empty: '', warning: '299 - "a", 299 - "b: c"' },
      body: '',
      whole: true,
      keepAlive: true,
    },
  },
];

describe('an answer is read the same wherever it is cut', () => {
  for (const { name, text, heard, ...options } of answers) {
    test(name, () => {
      for (const pieces of everySplit(text)) assert.deepEqual(parse(pieces, options), heard);
    });
  }
});

const huge = 'x'.repeat(64 << 10);
const refused: { name: string; text: string; says: RegExp; method?: string }[] = [
  { name: 'another protocol', text: 'SSH-2.0-OpenSSH_9\r\n', says: /no HTTP\/1\.1/ },
  { name: 'a TLS alert', text: '\x15\x03\x01\x00\x02\x02\x46', says: /no HTTP\/1\.1/ },
  { name: 'HTTP/2', text: 'HTTP/2 200\r\n\r\n', says: /no HTTP\/1\.1/ },
  { name: 'HTTP/1.2', text: 'HTTP/1.2 200 OK\r\n\r\n', says: /no HTTP\/1\.1/ },
  { name: 'a status that is none', text: 'HTTP/1.1 2000 OK\r\n\r\n', says: /no HTTP\/1\.1/ },
  { name: '101', text: 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n', says: /unsolicited protocol switch/ },
  { name: 'a header without colon', text: `${ok}nothing\r\n\r\n`, says: /header without a name/ },
  {
    name: 'a header without colon that begins like one that came before',
    text: `${ok}content-length: 0\r\ncontent-lengthy\r\n\r\n`,
    says: /header without a name/,
  },
  { name: 'a header without name', text: `${ok}: x\r\n\r\n`, says: /header without a name/ },
  {
    name: 'a space before the colon',
    text: `${ok}content-length : 5\r\n\r\n`,
    says: /header without a name/,
  },
  {
    name: 'a line that continues another',
    text: `${ok}a: b\r\n c: d\r\n\r\n`,
    says: /header without a name/,
  },
  {
    name: 'a bare newline in a value',
    text: `${ok}a: b\nc\r\n\r\n`,
    says: /control characters in the header a/,
  },
  { name: 'a NUL in a value', text: `${ok}a: b\0\r\n\r\n`, says: /control characters/ },
  {
    name: 'two different lengths',
    text: `${ok}content-length: 5\r\ncontent-length: 6\r\n\r\n`,
    says: /length "5, 6"/,
  },
  { name: 'a negative length', text: `${ok}content-length: -5\r\n\r\n`, says: /length "-5"/ },
  { name: 'a length in hexadecimal', text: `${ok}content-length: 0x5\r\n\r\n`, says: /length "0x5"/ },
  { name: 'an empty length', text: `${ok}content-length:\r\n\r\n`, says: /length ""/ },
  {
    name: 'a length and chunks',
    text: `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
    says: /two lengths/,
  },
  {
    name: 'compression nobody asked for',
    text: `${ok}transfer-encoding: gzip, chunked\r\n\r\n`,
    says: /"gzip, chunked"/,
  },
  {
    name: 'a chunk without size',
    text: `${ok}transfer-encoding: chunked\r\n\r\n\r\n`,
    says: /without its size/,
  },
  {
    name: 'a chunk with a wrong size',
    text: `${ok}transfer-encoding: chunked\r\n\r\n5x\r\n`,
    says: /without its size/,
  },
  {
    name: 'a negative chunk',
    text: `${ok}transfer-encoding: chunked\r\n\r\n-5\r\n`,
    says: /without its size/,
  },
  {
    name: 'a chunk beyond all size',
    text: `${ok}transfer-encoding: chunked\r\n\r\nfffffffffffff\r\n`,
    says: /without its size/,
  },
  {
    name: 'a chunk longer than it says',
    text: `${ok}transfer-encoding: chunked\r\n\r\n2\r\nabc\r\n`,
    says: /more than 0 bytes/,
  },
  {
    name: 'a trailer that is none',
    text: `${ok}transfer-encoding: chunked\r\n\r\n0\r\nx y\r\n\r\n`,
    says: /trailer that is none/,
  },
  { name: 'more than was announced', text: `${ok}content-length: 2\r\n\r\nabc`, says: /unsolicited bytes/ },
  { name: 'a second answer', text: `${ok}content-length: 0\r\n\r\n${ok}`, says: /unsolicited bytes/ },
  {
    name: 'a body after HEAD',
    text: `${ok}content-length: 2\r\n\r\nab`,
    method: 'HEAD',
    says: /unsolicited bytes/,
  },
  { name: 'a head without end', text: `${ok}a: ${huge}`, says: /more than 65536 bytes/ },
  { name: 'a head that is too large', text: `${ok}a: ${huge}\r\n\r\n`, says: /more than 65536 bytes/ },
  {
    name: 'endless chunk extensions',
    text: `${ok}transfer-encoding: chunked\r\n\r\n5;${huge}`,
    says: /more than 1024 bytes/,
  },
  {
    name: 'endless trailers',
    text: `${ok}transfer-encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(20_000)}`,
    says: /more than \d+ bytes/,
  },
];

describe('what is no answer is refused wherever it is cut', () => {
  for (const { name, text, says, ...options } of refused) {
    test(name, () => {
      const splits = text.length > 1000 ? everySplit(text).slice(0, 2) : everySplit(text);
      for (const pieces of splits) {
        // A byte on its own may come after the end: the pool then closes the connection, see connection-pool.test.ts.
        assert.throws(
          () => parse(pieces, options),
          (error: Error) => /bytes after the end/.test(error.message) || says.test(error.message),
        );
      }
    });
  }
});

test('what is cut off is not whole', () => {
  for (const { text, closed, method = 'GET' } of answers) {
    for (let at = 0; at < text.length && !closed; at++) {
      const heard = parse(at === 0 ? [] : [Buffer.from(text.slice(0, at), 'latin1')], {
        method,
        closed: true,
      });
      assert.equal(heard.whole, false, JSON.stringify(text.slice(0, at)));
    }
  }
});

test('one parser reads answer after answer, of any body in any chunks, cut anywhere', () => {
  const body = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 });
  const answer = fc.record({ chunks: body, chunked: fc.boolean(), keep: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(answer, { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      (list, cuts) => {
        let seen: Buffer[] = [];
        const parser = new AnswerParser({
          onHead: () => {},
          onData: (bytes) => void seen.push(Buffer.from(bytes)),
        });
        let cut = 0;
        for (const { chunks, chunked, keep } of list) {
          const whole = Buffer.concat(chunks);
          const head = `HTTP/1.1 200 OK\r\n${keep ? '' : 'connection: close\r\n'}`;
          const text = chunked
            ? Buffer.concat([
                Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`),
                ...chunks.flatMap((one) => [
                  Buffer.from(`${one.length.toString(16)}\r\n`),
                  one,
                  Buffer.from('\r\n'),
                ]),
                Buffer.from('0\r\n\r\n'),
              ])
            : Buffer.concat([Buffer.from(`${head}content-length: ${whole.length}\r\n\r\n`), whole]);
          seen = [];
          parser.expect('GET');
          for (let at = 0; at < text.length; ) {
            const next = Math.min(text.length, at + (cuts[cut++ % cuts.length] as number));
            assert.equal(parser.push(text.subarray(at, next)), next === text.length);
            at = next;
          }
          assert.deepEqual(Buffer.concat(seen), whole);
          assert.equal(parser.keepAlive, keep);
        }
      },
    ),
  );
});

test('random bytes end in an error or in waiting, never in another exception or an endless loop', () => {
  const pieces = [
    'HTTP/1.1 200 OK\r\n',
    'content-length: 3',
    'transfer-encoding: chunked',
    '\r\n',
    '\r\n\r\n',
    '5',
    'abc',
    ':',
    '0',
    '\n',
    '\0',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces)), (parts) => {
      try {
        parse([Buffer.from(`HTTP/1.1 200 OK\r\n${parts.join('')}`)], { closed: true });
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'HTTP_MALFORMED');
      }
    }),
  );
});
