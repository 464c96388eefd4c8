import assert from 'node:assert/strict';
import { HeaderBlockError, HeaderDecoder } from '../../src/wire/http2/header-decoder.ts';
import { HeaderEncoder } from '../../src/wire/http2/header-encoder.ts';
import { fieldBytes, type HeaderField } from '../../src/wire/http2/header-table.ts';
import type { Draw, FuzzTarget } from './target.ts';

const limits = { maxTableBytes: 4096, maxListBytes: 2000 };

export const headerBlocks: FuzzTarget = {
  summary:
    'blocks are read as they were written; mutated ones are read within the limits, or refused with a HeaderBlockError',
  seedsInTests: 1500,
  try(draw) {
    const encoder = new HeaderEncoder();
    const decoder = new HeaderDecoder(limits);
    const known = draw.list(6, () => field(draw));
    for (let block = draw.int(6); block >= 0; block--) {
      if (draw.chance(0.2)) encoder.resize(draw.int(5000));
      const sent = [
        draw.list(4, () => draw.of([...known, field(draw)])),
        draw.list(3, () => field(draw)),
      ] as const;
      const bytes = encoder.encode(...sent);
      if (draw.chance(0.3)) {
        readMutated(decoder, draw.mutated(bytes));
        // The two ends no longer agree.
        return;
      }
      const { fields, isTooLong } = decoder.decode(bytes);
      const all = sent.flat();
      const listBytes = all.reduce((sum, { name, value }) => sum + fieldBytes(name, value), 0);
      assert.equal(isTooLong, listBytes > limits.maxListBytes);
      if (!isTooLong)
        assert.deepEqual(
          fields,
          all.flatMap(({ name, value }) => [name, value]),
        );
    }
  },
};

function field(draw: Draw): HeaderField {
  const latin1 = (maxLength: number): string => draw.bytes(maxLength).toString('latin1');
  return {
    name: draw.of([':method', ':path', 'te', 'x', latin1(10)]),
    value: draw.of(['POST', '', latin1(20), 'y'.repeat(draw.int(600))]),
  };
}

function readMutated(decoder: HeaderDecoder, bytes: Buffer): void {
  try {
    const { fields } = decoder.decode(bytes);
    let listBytes = 0;
    for (let at = 0; at < fields.length; at += 2) {
      listBytes += fieldBytes(fields[at] as string, fields[at + 1] as string);
    }
    assert.ok(listBytes <= limits.maxListBytes);
  } catch (error) {
    assert.ok(error instanceof HeaderBlockError, String(error));
  }
}
