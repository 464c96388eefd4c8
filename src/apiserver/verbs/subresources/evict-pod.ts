// POST pods/NAME/eviction: deletion of a pod in the name of someone who drains a node. There are no disruption
// budgets here, so an eviction is a deletion under its own permission.

import { authorize, isObject, type Machine, type WriteAnswer, type WriteRequest } from '../request.ts';
import { badRequest, successStatus } from '../status.ts';
import { deleteAuthorized, readDeleteOptions } from '../write/delete.ts';

export async function evictPod(machine: Machine, request: WriteRequest, body: unknown): Promise<WriteAnswer> {
  authorize(machine, 'create', request);
  if (!isObject(body)) throw badRequest('the body must be an Eviction');
  const options = readDeleteOptions(body.deleteOptions);
  const dryRun = request.dryRun || options.dryRun;
  await deleteAuthorized(machine, { ...request, subresource: '', dryRun }, options);
  return { kind: 'other', body: successStatus(undefined, 201), code: 201 };
}
