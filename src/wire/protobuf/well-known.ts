// The well-known types that CSI uses: Timestamp, and wrappers of scalars that may be absent.

import type { DescMessage, Message } from './descriptor.ts';
import { protoFile } from './proto-file.ts';

const file = protoFile('google.protobuf');

export type Timestamp = Message<'google.protobuf.Timestamp'> & { seconds: bigint; nanos: number };
export const TimestampSchema: DescMessage<Timestamp> = file.message(
  'Timestamp',
  '1 seconds int64\n2 nanos int32',
);

type BoolValue = Message<'google.protobuf.BoolValue'> & { value: boolean };
type Int64Value = Message<'google.protobuf.Int64Value'> & { value: bigint };

export const wellKnown: readonly DescMessage[] = [
  TimestampSchema,
  file.message<BoolValue>('BoolValue', '1 value bool'),
  file.message<Int64Value>('Int64Value', '1 value int64'),
];

export function timestampFromMs(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return {
    $typeName: 'google.protobuf.Timestamp',
    seconds: BigInt(seconds),
    nanos: Math.round((ms - seconds * 1000) * 1e6),
  };
}

/** As JSON has it: `2026-01-02T03:04:05.678Z`. */
export function timestampText({ seconds, nanos }: Timestamp): string {
  const time = new Date(Number(seconds) * 1000);
  if (Number.isNaN(time.getTime())) return `${seconds} s after 1970`;
  const fraction =
    nanos === 0
      ? ''
      : `.${String(nanos)
          .padStart(9, '0')
          .replace(/(000){1,2}$/, '')}`;
  return time.toISOString().replace(/\.000Z$/, `${fraction}Z`);
}

/** Undefined for a text that is no time. */
export function timestampFromText(text: string): Timestamp | undefined {
  const [, seconds, fraction = ''] = /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?/.exec(text) ?? [];
  const zone = /(Z|z|[+-]\d\d:\d\d)$/.exec(text)?.[1];
  const ms = seconds === undefined || zone === undefined ? Number.NaN : Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(ms)) return undefined;
  return {
    $typeName: 'google.protobuf.Timestamp',
    seconds: BigInt(ms / 1000),
    nanos: Number(fraction.padEnd(9, '0')),
  };
}
