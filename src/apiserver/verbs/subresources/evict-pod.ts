// POST pods/NAME/eviction, as used to drain a node. There are no disruption budgets here, so an eviction is a deletion
// with its own permission.

import { isObject, type Machine, type WriteAnswer, type WriteRequest } from '../request.ts';
import { badRequest, successStatus } from '../status.ts';
import { deleteOne, readDeleteOptions } from '../write/delete.ts';
import { checkBody } from './bind-pod.ts';

export async function evictPod(machine: Machine, request: WriteRequest, body: unknown): Promise<WriteAnswer> {
  if (!isObject(body)) throw badRequest('the body must be an Eviction');
  checkBody(body, 'Eviction', request.name);
  const options = readDeleteOptions(body.deleteOptions);
  const dryRun = request.dryRun || options.dryRun;
  await deleteOne(machine, { ...request, subresource: '', dryRun }, options);
  return { kind: 'other', body: successStatus(undefined, 201), code: 201 };
}
