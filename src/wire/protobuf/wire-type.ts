// The wire types of protobuf.

export const WireType = {
  VARINT: 0,
  FIXED64: 1,
  LENGTH: 2,
  START_GROUP: 3,
  END_GROUP: 4,
  FIXED32: 5,
} as const;
