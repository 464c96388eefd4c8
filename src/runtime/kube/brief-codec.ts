// What brief writes need of protobuf, as one module to be loaded when it is first needed.

export { decodeObject } from '../../api/protobuf/decode-object.ts';
export { encodeObject } from '../../api/protobuf/encode-object.ts';
export { readMetadata, readWritten } from '../../api/protobuf/read-written.ts';
