// A message as it stands in the data of a call, for peers that a test writes by hand.

export function prefixed(message: Uint8Array, { isCompressed = false } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = isCompressed ? 1 : 0;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
