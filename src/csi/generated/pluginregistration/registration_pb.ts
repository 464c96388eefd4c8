// Generated from proto/pluginregistration/registration.proto by scripts/generate-proto.ts.

import type { DescMessage, Message } from '../../../wire/protobuf/descriptor.ts';
import { protoFile } from '../../../wire/protobuf/proto-file.ts';
import { wellKnown } from '../../../wire/protobuf/well-known.ts';

const file = protoFile('pluginregistration', wellKnown);

export type InfoRequest = Message<'pluginregistration.InfoRequest'> & {};
export const InfoRequestSchema: DescMessage<InfoRequest> = file.message('InfoRequest', '');

export type PluginInfo = Message<'pluginregistration.PluginInfo'> & {
  type: string;
  name: string;
  endpoint: string;
  supportedVersions: string[];
};
export const PluginInfoSchema: DescMessage<PluginInfo> = file.message('PluginInfo', `
  1 type string
  2 name string
  3 endpoint string
  4 supported_versions repeated string
`);

export type RegistrationStatus = Message<'pluginregistration.RegistrationStatus'> & {
  pluginRegistered: boolean;
  error: string;
};
export const RegistrationStatusSchema: DescMessage<RegistrationStatus> = file.message('RegistrationStatus', `
  1 plugin_registered bool
  2 error string
`);

export type RegistrationStatusResponse = Message<'pluginregistration.RegistrationStatusResponse'> & {};
export const RegistrationStatusResponseSchema: DescMessage<RegistrationStatusResponse> = file.message('RegistrationStatusResponse', '');

export const Registration = file.service('Registration', {
  getInfo: { methodKind: 'unary', input: InfoRequestSchema, output: PluginInfoSchema },
  notifyRegistrationStatus: { methodKind: 'unary', input: RegistrationStatusSchema, output: RegistrationStatusResponseSchema },
});
