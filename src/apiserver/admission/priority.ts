// The priority of a new pod: the value of the class that it names, or of the default class, or 0. There is at most one
// default class.

import { type Pod, type PriorityClass, pods, priorityClasses } from '../../api/kinds.ts';
import type { AdmissionPlugin, AdmissionRequest, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

const PREEMPTS = 'PreemptLowerPriority';

export function priority({ reader }: { reader: Reader }): AdmissionPlugin {
  const defaultClass = (): PriorityClass | undefined =>
    [...reader.list(priorityClasses)]
      .filter(({ globalDefault }) => globalDefault === true)
      .sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
  return {
    name: 'Priority',
    mutate(request) {
      if (!isAbout(request, pods) || request.operation !== 'create' || request.subresource !== '') return;
      const spec = (request.object as Pod | undefined)?.spec;
      if (!spec) return;
      const named = spec.priorityClassName;
      const found = named ? reader.get(priorityClasses, { name: named }) : defaultClass();
      if (named && !found) refuse(request, `no PriorityClass with name ${named} was found`);
      const value = found?.value ?? 0;
      if (spec.priority !== undefined && spec.priority !== value) {
        refuse(
          request,
          `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
        );
      }
      const policy = found?.preemptionPolicy ?? PREEMPTS;
      if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
        refuse(
          request,
          `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
        );
      }
      if (found) spec.priorityClassName = found.metadata.name;
      spec.priority = value;
      spec.preemptionPolicy = policy;
    },
    validate(request) {
      if (isAbout(request, priorityClasses)) allowOneDefault(request, defaultClass());
    },
  };
}

function allowOneDefault(request: AdmissionRequest, present: PriorityClass | undefined): void {
  const asked = request.object as PriorityClass | undefined;
  if (asked?.globalDefault !== true || !present || present.metadata.name === asked.metadata.name) return;
  refuse(
    request,
    `PriorityClass ${present.metadata.name} is already marked as default. Only one default can exist`,
  );
}
