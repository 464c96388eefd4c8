// The methods of the CSI services by their path on the wire.

import { methodPath } from '../../wire/grpc/method-path.ts';
import type { DescMethod } from '../../wire/protobuf/descriptor.ts';
import { Controller, GroupController, Identity, Node, SnapshotMetadata } from '../generated/csi/v1/csi_pb.ts';

export const csiServices = [Identity, Controller, GroupController, SnapshotMetadata, Node] as const;

const byPath: ReadonlyMap<string, DescMethod> = new Map(
  csiServices.flatMap(({ methods }) => methods.map((method) => [methodPath(method), method] as const)),
);

/** Undefined for a path that is not of CSI. */
export function csiMethodAt(path: string): DescMethod | undefined {
  return byPath.get(path);
}
