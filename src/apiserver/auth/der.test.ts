import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from './der.ts';

const bytes = (...values: number[]) => Uint8Array.from(values);
const hex = (der: Uint8Array) => Buffer.from(der).toString('hex');

const table: [name: string, der: Uint8Array, hex: string][] = [
  ['zero', integer(bytes(0)), '020100'],
  ['zeros', integer(bytes(0, 0)), '020100'],
  ['one byte', integer(bytes(0x7f)), '02017f'],
  ['a byte with the sign bit', integer(bytes(0x80)), '02020080'],
  ['leading zeros', integer(bytes(0, 0, 1, 2)), '02020102'],
  ['nothing', integer(bytes()), '0200'],
  ['true', boolean(true), '0101ff'],
  ['false', boolean(false), '010100'],
  ['text', utf8String('ü'), '0c02c3bc'],
  ['octets', octetString(bytes(1)), '040101'],
  ['bits', bitString(bytes(0xa0), 5), '030205a0'],
  ['whole bytes of bits', bitString(bytes(1)), '03020001'],
  ['a sequence', sequence(boolean(true), boolean(false)), '30060101ff010100'],
  ['a set', set(boolean(true)), '31030101ff'],
  ['an explicit tag', explicit(3, boolean(true)), 'a3030101ff'],
  ['an implicit tag', implicit(2, bytes(1)), '820101'],
  ['an identifier', objectIdentifier('2.5.4.3'), '0603550403'],
  ['an identifier with large arcs', objectIdentifier('1.2.840.113549'), '06062a864886f70d'],
  [
    'a time before 2050',
    time(Date.UTC(2049, 11, 31, 23, 59, 59)),
    `170d${Buffer.from('491231235959Z').toString('hex')}`,
  ],
  ['a time from 2050', time(Date.UTC(2050, 0, 1)), `180f${Buffer.from('20500101000000Z').toString('hex')}`],
];
for (const [name, der, wanted] of table) {
  test(`DER of ${name}`, () => assert.equal(hex(der), wanted));
}

test('DER of lengths', () => {
  const head = (length: number) => hex(octetString(new Uint8Array(length))).slice(0, 10);
  assert.equal(head(0x7f), '047f000000');
  assert.equal(head(0x80), '0481800000');
  assert.equal(head(0x100), '0482010000');
  assert.equal(head(0x10000), '0483010000');
});
