// Generated from proto/csiregistration/csi_registration.proto by scripts/generate-proto.ts.

import type { DescMessage, Message } from '../../../wire/protobuf/descriptor.ts';
import { protoFile } from '../../../wire/protobuf/proto-file.ts';
import { wellKnown } from '../../../wire/protobuf/well-known.ts';

const file = protoFile('csiregistration', wellKnown);

export type CSIDriverInfoRequest = Message<'csiregistration.CSIDriverInfoRequest'> & {};
export const CSIDriverInfoRequestSchema: DescMessage<CSIDriverInfoRequest> = file.message('CSIDriverInfoRequest', '');

export type CSIDriverInfo = Message<'csiregistration.CSIDriverInfo'> & {
  csiEndpoint: string;
  options?: CSIDriverOptions | undefined;
};
export const CSIDriverInfoSchema: DescMessage<CSIDriverInfo> = file.message('CSIDriverInfo', `
  1 csi_endpoint string
  2 options CSIDriverOptions
`);

export type CSIDriverOptions = Message<'csiregistration.CSIDriverOptions'> & {
  requiresPublishPod: boolean;
};
export const CSIDriverOptionsSchema: DescMessage<CSIDriverOptions> = file.message('CSIDriverOptions', `
  1 requires_publish_pod bool
`);

export const CSIRegistration = file.service('CSIRegistration', {
  getCSIDriverInfo: { methodKind: 'unary', input: CSIDriverInfoRequestSchema, output: CSIDriverInfoSchema },
});
