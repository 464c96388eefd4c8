import assert from 'node:assert/strict';
import { AnswerParser } from '../../src/wire/http1/answer-parser.ts';
import { HttpError } from '../../src/wire/http1/http-error.ts';
import type { Draw, FuzzTarget } from './target.ts';

export const httpAnswers: FuzzTarget = {
  summary:
    'answers mean the same however they are cut; mutated ones are answers or an HttpError, with bounded heads',
  seedsInTests: 1500,
  try(draw) {
    const { bytes, body } = answer(draw);
    const isMutated = draw.chance(0.7);
    const input = isMutated ? draw.mutated(bytes) : bytes;
    const whole = read([input]);
    assert.deepEqual(read(draw.pieces(input)), whole);
    if (isMutated) return;
    assert.equal(whole.body, body.toString('latin1'));
    assert.equal(whole.error, undefined);
  },
};

function answer(draw: Draw): { bytes: Buffer; body: Buffer } {
  const body = draw.bytes(draw.of([0, 10, 300]));
  const headers = draw.list(
    4,
    () => `x-${draw.int(9)}: ${draw.of(['', 'y', ' z\t', 'v'.repeat(draw.int(300))])}\r\n`,
  );
  const interim = draw.chance(0.1) ? 'HTTP/1.1 100 Continue\r\n\r\n' : '';
  const head = `${interim}HTTP/1.1 ${draw.of([200, 201, 404, 500])} ${draw.of(['OK', '', 'Not Found'])}\r\n${headers.join('')}`;
  if (draw.chance(0.4)) {
    return { bytes: Buffer.concat([text(`${head}content-length: ${body.length}\r\n\r\n`), body]), body };
  }
  const parts: Buffer[] = [text(`${head}transfer-encoding: chunked\r\n\r\n`)];
  for (const piece of draw.pieces(body)) {
    const extension = draw.of(['', '', ';name=value', ' ; a']);
    parts.push(text(`${piece.length.toString(16)}${extension}\r\n`), piece, text('\r\n'));
  }
  parts.push(text(`0\r\n${draw.chance(0.2) ? 'x-trailer: y\r\n' : ''}\r\n`));
  return { bytes: Buffer.concat(parts), body };
}

const text = (latin1: string): Buffer => Buffer.from(latin1, 'latin1');

interface Heard {
  heads: { status: number; headers: object }[];
  body: string;
  isWhole: boolean;
  error: string | undefined;
}

function read(pieces: readonly Buffer[]): Heard {
  const heard: Heard = { heads: [], body: '', isWhole: false, error: undefined };
  const parser = new AnswerParser({
    onHead: ({ status, headers }) => heard.heads.push({ status, headers: { ...headers } }),
    onData(bytes) {
      heard.body += bytes.toString('latin1');
    },
  });
  parser.expect('GET');
  try {
    for (const piece of pieces) {
      // As the connection does it: after an answer nothing may come.
      if (heard.isWhole) throw new HttpError('HTTP_MALFORMED', 'bytes that nobody asked for');
      heard.isWhole = parser.push(piece);
    }
    heard.isWhole ||= parser.close();
  } catch (error) {
    assert.ok(error instanceof HttpError, String(error));
    heard.error = error.code;
  }
  // An error that comes in the same piece as the end of the answer hides that it was whole.
  if (heard.error !== undefined) heard.isWhole = false;
  return heard;
}
