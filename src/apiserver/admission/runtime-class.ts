// A pod that names a RuntimeClass gets its overhead and its scheduling constraints; a class that does not exist is an
// error.

import { type Pod, pods, runtimeClasses } from '../../api/kinds.ts';
import { getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

export function runtimeClass({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'RuntimeClass',
    mutate(request) {
      if (!isAbout(request, pods) || request.operation !== 'create' || request.subresource !== '') return;
      const spec = (request.object as Pod | undefined)?.spec;
      if (!spec) return;
      const { runtimeClassName: name } = spec;
      const found = name ? reader.get(runtimeClasses, { name }) : undefined;
      if (name && !found) refuse(request, `pod rejected: RuntimeClass "${name}" not found`);
      const overhead = found?.overhead?.podFixed;
      if (spec.overhead && !sameJson(spec.overhead, overhead)) {
        refuse(request, "pod rejected: Pod Overhead does not match the RuntimeClass's defined Overhead");
      }
      if (overhead) spec.overhead = { ...overhead };
      for (const [key, value] of Object.entries(found?.scheduling?.nodeSelector ?? {})) {
        const own = getOwn(spec.nodeSelector, key);
        if (own !== undefined && own !== value) {
          refuse(
            request,
            `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`,
          );
        }
        spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
      }
      const tolerations = found?.scheduling?.tolerations ?? [];
      if (tolerations.length > 0) spec.tolerations = [...(spec.tolerations ?? []), ...tolerations];
    },
  };
}
