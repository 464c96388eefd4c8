// Conversion of custom objects between versions of their definition. Conversion webhooks are not called; the one that CSI needs
// is built in, as the official snapshot-conversion-webhook does it: a VolumeGroupSnapshotContent of v1beta1 lists pairs of
// handles where later versions list snapshots, and what the pairs have no room for is kept in an annotation. All other kinds
// change only their `apiVersion`. Pure.

import type { KubeObject } from '../../api/object.ts';
import { badRequest } from '../verbs/status.ts';

const GROUP = 'groupsnapshot.storage.k8s.io';
const ANN_INFO_LIST = 'groupsnapshot.storage.kubernetes.io/volume-snapshot-info-list';

type Fields = Record<string, unknown>;
type Content = KubeObject & { status?: Fields };

/** Takes a private object, and may use its parts. */
export function convertVersion(object: KubeObject, apiVersion: string): KubeObject {
  const [wasOld, isOld] = [object.apiVersion, apiVersion].map((version) => version === `${GROUP}/v1beta1`);
  if (object.kind !== 'VolumeGroupSnapshotContent' || wasOld === isOld) return { ...object, apiVersion };
  return { ...(isOld ? toPairs(object) : fromPairs(object)), apiVersion };
}

function toPairs(content: Content): Content {
  const { volumeSnapshotInfoList: infos, ...status } = content.status ?? {};
  if (!Array.isArray(infos)) return content;
  const { metadata } = content;
  const annotations = { ...metadata.annotations, [ANN_INFO_LIST]: JSON.stringify(infos) };
  const pairs = infos.map(({ volumeHandle, snapshotHandle }: Fields) => ({ volumeHandle, snapshotHandle }));
  return {
    ...content,
    metadata: { ...metadata, annotations },
    status: { ...status, volumeSnapshotHandlePairList: pairs },
  };
}

function fromPairs(content: Content): Content {
  const { [ANN_INFO_LIST]: kept, ...annotations } = content.metadata.annotations ?? {};
  const { volumeSnapshotHandlePairList: pairs, ...status } = content.status ?? {};
  // The annotation wins, as officially: a v1beta1 client changes the pairs only together with it.
  const infos = kept === undefined ? pairs : parsed(kept);
  if (infos === undefined) return content;
  const { annotations: _, ...metadata } = content.metadata;
  return {
    ...content,
    metadata: { ...metadata, ...(Object.keys(annotations).length > 0 && { annotations }) },
    status: { ...status, volumeSnapshotInfoList: infos },
  };
}

function parsed(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value;
  } catch {
    // Below.
  }
  throw badRequest(`metadata.annotations: the value of ${ANN_INFO_LIST} must be a list in JSON`);
}
