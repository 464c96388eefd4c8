// Pods tolerate a node that is not ready or unreachable for five minutes, unless they say otherwise.

import { type Pod, pods, type Toleration } from '../../api/kinds.ts';
import type { AdmissionPlugin } from '../pipeline.ts';
import { isAbout } from './refuse.ts';

const SECONDS = 300;
const TAINTS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

export function defaultTolerationSeconds(): AdmissionPlugin {
  return {
    name: 'DefaultTolerationSeconds',
    mutate(request) {
      if (!isAbout(request, pods) || request.operation === 'delete' || request.subresource !== '') return;
      const spec = (request.object as Pod | undefined)?.spec;
      if (!spec) return;
      const { tolerations = [] } = spec;
      const missing = TAINTS.filter((taint) => !tolerations.some((each) => tolerates(each, taint)));
      if (missing.length === 0) return;
      spec.tolerations = [
        ...tolerations,
        ...missing.map((key) => ({
          key,
          operator: 'Exists' as const,
          effect: 'NoExecute' as const,
          tolerationSeconds: SECONDS,
        })),
      ];
    },
  };
}

const tolerates = ({ key, effect }: Toleration, taint: string): boolean =>
  (!key || key === taint) && (!effect || effect === 'NoExecute');
