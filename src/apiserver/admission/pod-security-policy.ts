// PodSecurityPolicy, for volumes only: which kinds of volumes a pod may have, which host paths, which inline CSI
// drivers. Enforced as soon as one policy exists; a pod then needs a policy that it satisfies and that its creator or
// its service account may `use`. The other fields of a policy are about containers, which Berth does not run: a warning
// says so.

import type { Pod, PodVolume } from '../../api/kinds.ts';
import { pods } from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { nodeNameOf, serviceAccountUser } from '../auth/users.ts';
import { isMirrorPod } from '../authorization/node-references.ts';
import type { AdmissionPlugin, AdmissionRequest, Authorizer, Reader, User } from '../pipeline.ts';
import { isApiAccess } from './api-access.ts';
import { isAbout, refuse } from './refuse.ts';

export type PodSecurityPolicy = KubeObject & {
  spec: {
    /** Kinds of volume, `*` for all; absent or empty: none. */
    volumes?: string[];
    /** Absent: every driver that `volumes` allows. Present: only those named, so none when empty. */
    allowedCSIDrivers?: { name: string }[] | null;
    /** Absent or empty: every path. */
    allowedHostPaths?: { pathPrefix?: string; readOnly?: boolean }[];
  };
};

export const podSecurityPolicies: Resource<PodSecurityPolicy> = {
  group: 'policy',
  version: 'v1beta1',
  kind: 'PodSecurityPolicy',
  plural: 'podsecuritypolicies',
  namespaced: false,
};

const ENFORCED = new Set(['volumes', 'allowedCSIDrivers', 'allowedHostPaths']);
/** Required by the kind's schema, and without effect here. */
const SILENT = new Set(['seLinux', 'runAsUser', 'runAsGroup', 'supplementalGroups', 'fsGroup']);
const ANN_POLICY = 'kubernetes.io/psp';

/** What the policy does not allow in the pod, with paths; empty when it passes. */
function policyProblems(policy: PodSecurityPolicy, volumes: readonly PodVolume[]): string[] {
  const { volumes: kinds = [], allowedCSIDrivers, allowedHostPaths = [] } = policy.spec;
  const problems: string[] = [];
  for (const [index, volume] of volumes.entries()) {
    // The pod's own token; the ServiceAccount plugin adds it to every pod.
    if (isApiAccess(volume)) continue;
    const at = `spec.volumes[${index}]`;
    const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'emptyDir';
    if (!kinds.includes('*') && !kinds.includes(kind)) {
      problems.push(`${at}: Invalid value: "${kind}": ${kind} volumes are not allowed to be used`);
      continue;
    }
    const driver = volume.csi?.driver;
    if (driver !== undefined && allowedCSIDrivers && !allowedCSIDrivers.some(({ name }) => name === driver)) {
      problems.push(
        `${at}.csi.driver: Invalid value: "${driver}": Inline CSI driver is not allowed to be used`,
      );
    }
    const path = volume.hostPath?.path;
    if (path !== undefined && allowedHostPaths.length > 0) {
      const isBelow = ({ pathPrefix = '' }) => {
        const prefix = pathPrefix.replace(/\/+$/, '');
        return path === prefix || path.startsWith(`${prefix}/`);
      };
      if (path.split('/').includes('..') || !allowedHostPaths.some(isBelow)) {
        problems.push(`${at}.hostPath.pathPrefix: Invalid value: "${path}": is not allowed to be used`);
      }
    }
  }
  return problems;
}

export function podSecurityPolicy(options: { reader: Reader; authorizer: Authorizer }): AdmissionPlugin {
  const { reader, authorizer } = options;
  const mayUse = (user: User, policy: PodSecurityPolicy, namespace: string): boolean => {
    const { name } = policy.metadata;
    const about = { verb: 'use', group: 'policy', version: 'v1beta1', plural: 'podsecuritypolicies', name };
    return authorizer.authorize({ user, ...about, namespace }).decision === 'allow';
  };

  function choose(request: AdmissionRequest): string | undefined {
    const policies = [...reader.list(podSecurityPolicies)];
    if (policies.length === 0) return undefined;
    const pod = request.object as Pod;
    const { namespace = '' } = request;
    const account = serviceAccountUser(namespace, pod.spec.serviceAccountName ?? 'default');
    const usable = policies
      .filter((policy) => mayUse(request.user, policy, namespace) || mayUse(account, policy, namespace))
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    if (usable.length === 0) {
      refuse(
        request,
        `PodSecurityPolicy: neither "${request.user.name}" nor the pod's service account "${account.name}" may use any of the policies`,
      );
    }
    const problems = new Set<string>();
    for (const policy of usable) {
      const found = policyProblems(policy, pod.spec.volumes ?? []);
      if (found.length === 0) return policy.metadata.name;
      for (const problem of found) problems.add(problem);
    }
    return refuse(request, `PodSecurityPolicy: unable to admit pod: [${[...problems].join(', ')}]`);
  }

  function warnOfUnenforced(request: AdmissionRequest): void {
    const { spec = {} } = (request.object ?? {}) as Partial<PodSecurityPolicy>;
    const ignored = Object.entries(spec as Record<string, unknown>)
      .filter(
        ([key, value]) => !ENFORCED.has(key) && !SILENT.has(key) && value !== undefined && value !== true,
      )
      .map(([key]) => `spec.${key}`);
    if (ignored.length > 0) {
      request.warn(`not enforced here, where no containers run: ${ignored.sort().join(', ')}`);
    }
  }

  // Mirror pods show what a node already runs; the annotation has no effect from other users.
  const isPodCreation = (request: AdmissionRequest) =>
    isAbout(request, pods) &&
    request.operation === 'create' &&
    request.subresource === '' &&
    !(nodeNameOf(request.user) && isMirrorPod(request.object as Pod));

  return {
    name: 'PodSecurityPolicy',
    mutate(request) {
      if (!isPodCreation(request)) return;
      const pod = request.object as Pod;
      if (!pod.spec) return;
      const chosen = choose(request);
      if (chosen !== undefined)
        pod.metadata.annotations = { ...pod.metadata.annotations, [ANN_POLICY]: chosen };
    },
    validate(request) {
      if (isPodCreation(request)) {
        choose(request);
      } else if (isAbout(request, podSecurityPolicies) && request.operation !== 'delete') {
        warnOfUnenforced(request);
      }
    },
  };
}
