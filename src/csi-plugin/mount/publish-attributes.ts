// The volume context of NodeStageVolume and NodePublishVolume. Reserved keys are removed from user-provided attributes, so
// that no pod can impersonate another, and set by the node where the driver asks for them.

import type { Pod } from '../../api/kinds.ts';
import { KEY_EPHEMERAL, KEY_SERVICE_ACCOUNT_TOKENS, POD_INFO_PREFIXES } from '../../api/well-known.ts';
import type { MountableVolume } from './mountable-volume.ts';

const POD_INFO_KEYS = ['pod.name', 'pod.namespace', 'pod.uid', 'serviceAccount.name'];
const RESERVED = new Set([
  ...POD_INFO_PREFIXES.flatMap((prefix) => POD_INFO_KEYS.map((key) => `${prefix}${key}`)),
  KEY_EPHEMERAL,
  KEY_SERVICE_ACCOUNT_TOKENS,
]);

/** Without pod information: a volume is staged once for all pods. */
export function stageAttributes(volume: MountableVolume): Record<string, string> {
  return Object.fromEntries(Object.entries(volume.attributes).filter(([key]) => !RESERVED.has(key)));
}

export function publishAttributes(
  volume: MountableVolume,
  pod: Pod,
  wants: { podInfo: boolean; tokens?: string | undefined },
): Record<string, string> {
  const attributes = stageAttributes(volume);
  if (wants.podInfo) Object.assign(attributes, podInfo(pod), { [KEY_EPHEMERAL]: 'false' });
  if (volume.lifecycle === 'Ephemeral') attributes[KEY_EPHEMERAL] = 'true';
  if (wants.tokens !== undefined) attributes[KEY_SERVICE_ACCOUNT_TOKENS] = wants.tokens;
  return attributes;
}

function podInfo({ metadata, spec }: Pod): Record<string, string> {
  const values: Record<string, string> = {
    'pod.name': metadata.name,
    'pod.namespace': metadata.namespace ?? '',
    'pod.uid': metadata.uid,
    'serviceAccount.name': spec.serviceAccountName ?? '',
  };
  return Object.fromEntries(
    POD_INFO_PREFIXES.flatMap((prefix) =>
      Object.entries(values).map(([key, value]) => [`${prefix}${key}`, value]),
    ),
  );
}
