// POST to a subresource, and to kinds that are never stored: each is passed to the part that handles it.

import type { Machine, WriteAnswer, WriteRequest } from '../request.ts';
import { methodNotAllowed } from '../status.ts';
import { decodeObject } from '../write/decode-object.ts';
import { bindPod } from './bind-pod.ts';
import { evictPod } from './evict-pod.ts';

export async function createSubresource(
  machine: Machine,
  request: WriteRequest,
  body: unknown,
): Promise<WriteAnswer> {
  const { kind, subresource } = request;
  if (kind.group === '' && kind.plural === 'pods') {
    if (subresource === 'binding') return bindPod(machine, request, body);
    if (subresource === 'eviction') return evictPod(machine, request, body);
  }
  return createVirtual(machine, request, body);
}

export async function createVirtual(
  machine: Machine,
  request: WriteRequest,
  body: unknown,
): Promise<WriteAnswer> {
  // A token request is decoded by its issuer; the others by their schema.
  const asked = request.subresource === '' ? decodeObject(body, request) : body;
  const answer = machine.virtual(request, asked);
  if (answer === undefined) throw methodNotAllowed('create', request.kind);
  return { kind: 'other', body: answer, code: 201 };
}
