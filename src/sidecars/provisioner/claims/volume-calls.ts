// The two calls of the provisioner, and what a failed CreateVolume says about whether a volume exists.

import { csiClient } from '../../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import { codeOf } from '../../../csi/csi-error.ts';
import { Controller, type Volume } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { isFinal, outcomeOf, type Verdict } from '../../../csi/outcome.ts';
import type { CsiSecrets } from '../../../csi/secrets/credentials.ts';
import type { GrpcCode } from '../../../wire/grpc/grpc-code.ts';
import { type SecretlessRequest, withSecrets } from '../planning/create-volume-request.ts';

export interface VolumeCalls {
  create(
    request: SecretlessRequest,
    secrets: CsiSecrets | undefined,
    signal: AbortSignal,
  ): Promise<Volume | undefined>;
  delete(volumeId: string, secrets: CsiSecrets | undefined, signal: AbortSignal): Promise<void>;
}

export function volumeCalls(csi: CsiTransport, options: { timeoutMs: number }): VolumeCalls {
  const controller = csiClient(Controller, csi, options);
  return {
    async create(request, secrets, signal) {
      return (await controller.createVolume(withSecrets(request, secrets), { signal })).volume;
    },
    async delete(volumeId, secrets, signal) {
      await controller.deleteVolume({ volumeId, ...(secrets && { secrets: secrets.reveal() }) }, { signal });
    },
  };
}

/**
 * Codes by which the driver says that the volume of this request is not there. The specification wants OK for a
 * request whose volume exists, so that a refusal of the request itself is an answer; a mishap (INTERNAL and the like)
 * is none.
 */
const REFUSALS: ReadonlySet<GrpcCode> = new Set([
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'OUT_OF_RANGE',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'UNIMPLEMENTED',
]);

export interface CreateFailure {
  verdict: Verdict;
  /** No volume exists for the claim: the intent can go. */
  noVolume: boolean;
}

/**
 * `earlier`: what an earlier call, whose answer is not known, asked for. After one a final error of this call says
 * nothing about that one, unless both asked for the same and the driver refused it.
 */
export function createFailure(
  error: unknown,
  context: { nodeSelected: boolean; earlier: 'none' | 'the same' | 'something else' },
): CreateFailure {
  const verdict = outcomeOf('CreateVolume', error, context);
  if (!isFinal(verdict)) return { verdict, noVolume: false };
  const code = codeOf(error);
  const refused = code !== undefined && REFUSALS.has(code);
  return { verdict, noVolume: context.earlier === 'none' || (context.earlier === 'the same' && refused) };
}
