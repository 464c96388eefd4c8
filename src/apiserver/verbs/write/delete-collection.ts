// Deletes every object of a selection, one by one. Objects that are deleted meanwhile are skipped.

import { isNotFound } from '../../../runtime/kube/kube-error.ts';
import { type ListAnswer, type ListParameters, listSelected } from '../read/list.ts';
import { compileSelection } from '../read/selection.ts';
import type { Machine, WriteRequest } from '../request.ts';
import { deleteOne } from './delete.ts';
import type { DeleteParameters } from './deletion.ts';

export async function deleteCollection(
  machine: Machine,
  request: WriteRequest,
  selected: Pick<ListParameters, 'labelSelector' | 'fieldSelector' | 'limit' | 'continue'>,
  parameters: DeleteParameters,
): Promise<ListAnswer> {
  const { kind, namespace } = request;
  const selection = compileSelection({ kind, namespace, ...selected });
  const found = listSelected(machine, request, selection, selected);
  const deletions = found.items.map(async ({ object }) => {
    const { name, namespace: own } = object.metadata;
    try {
      await deleteOne(machine, { ...request, name, namespace: own }, parameters);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  });
  const failed = (await Promise.allSettled(deletions)).find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return found;
}
