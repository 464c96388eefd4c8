// A method's name on the wire.

import type { DescMethod } from '../protobuf/descriptor.ts';

/** `/csi.v1.Controller/CreateVolume` */
export function methodPath(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}
