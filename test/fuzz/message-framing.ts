import assert from 'node:assert/strict';
import { MessageReader } from '../../src/wire/grpc/message-framing.ts';
import { prefixed } from '../../src/wire/testing/prefixed.ts';
import type { FuzzTarget } from './target.ts';

const MAX_BYTES = 3000;

export const messageFraming: FuzzTarget = {
  summary:
    'messages are found again however they were cut; mutated ones are messages within the limit or a fault',
  seedsInTests: 1500,
  try(draw) {
    const sent = draw.list(5, () => draw.bytes(draw.of([0, 5, 50, MAX_BYTES])));
    const bytes = Buffer.concat(sent.map((message) => prefixed(message)));
    const isMutated = draw.chance(0.5);
    const pieces = draw.pieces(isMutated ? draw.mutated(bytes) : bytes);
    const read: Buffer[] = [];
    const reader = new MessageReader(MAX_BYTES, (message) => read.push(Buffer.from(message)));
    let fault: string | undefined;
    let received = 0;
    for (const piece of pieces) {
      fault ??= reader.push(piece);
      received += piece.length;
      assert.ok(reader.heldBytes <= Math.min(received, MAX_BYTES + 5));
      if (fault) break;
    }
    for (const message of read) assert.ok(message.length <= MAX_BYTES);
    if (isMutated) return;
    assert.equal(fault ?? reader.end(), undefined);
    assert.deepEqual(read, sent);
  },
};
