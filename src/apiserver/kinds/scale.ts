// The `scale` subresource: an autoscaling/v1 Scale read from an object, and a Scale written back into it. The
// kind names the fields.

import type { KubeObject } from '../../api/object.ts';
import { getOwn, setOwn } from '../../api/own-property.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Kind, ScalePaths } from '../kind.ts';
import { copyJson } from '../patch/json.ts';
import { selectorText } from '../printing/other-columns.ts';
import { ensureMap, type LooseMap, mapOf } from './loose.ts';

/** `.spec.replicas` and its like: fields only. */
function keysOf(path: string): string[] {
  return path.split('.').filter((key) => key !== '');
}

function read(object: unknown, path: string): unknown {
  return keysOf(path).reduce<unknown>((value, key) => getOwn(mapOf(value), key), object);
}

export function scaleOf(object: KubeObject, kind: Kind): KubeObject {
  const paths = pathsOf(kind);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = paths.labelSelector === undefined ? undefined : read(object, paths.labelSelector);
  const scale = {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace ? { namespace } : {}), uid, resourceVersion, creationTimestamp },
    spec: { replicas: Number(read(object, paths.specReplicas) ?? 0) },
    status: {
      replicas: Number(read(object, paths.statusReplicas) ?? 0),
      ...(selector ? { selector: typeof selector === 'string' ? selector : selectorText(selector) } : {}),
    },
  };
  return scale as KubeObject;
}

/** A copy of the object with the replicas of the scale, and its resourceVersion if given. */
export function withScale(object: KubeObject, scale: unknown, kind: Kind): KubeObject {
  const replicas = mapOf(mapOf(scale)?.spec)?.replicas ?? 0;
  if (!Number.isInteger(replicas) || (replicas as number) < 0) {
    const message = `Scale.autoscaling "${object.metadata.name}" is invalid: spec.replicas: Invalid value: ${JSON.stringify(replicas)}: must be greater than or equal to 0`;
    throw new KubeError({ reason: 'Invalid', code: 422, message });
  }
  const next = copyJson(object);
  const keys = keysOf(pathsOf(kind).specReplicas);
  const last = keys.pop() ?? 'replicas';
  const holder = keys.reduce<LooseMap>((map, key) => ensureMap(map, key), next as unknown as LooseMap);
  setOwn(holder, last, replicas);
  const version = mapOf(mapOf(scale)?.metadata)?.resourceVersion;
  if (typeof version === 'string' && version !== '') next.metadata.resourceVersion = version;
  return next;
}

function pathsOf(kind: Kind): ScalePaths {
  if (kind.scale) return kind.scale;
  throw new KubeError({ reason: 'NotFound', code: 404, message: `${kind.plural} have no scale` });
}
