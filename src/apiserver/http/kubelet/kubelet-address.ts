// Where a node's kubelet serves, as its Node object says.

import { type Node, nodes } from '../../../api/kinds.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import type { Reader } from '../../pipeline.ts';
import { badRequest, notFound } from '../../verbs/status.ts';

export interface KubeletAddress {
  readonly node: string;
  readonly host: string;
  readonly port: number;
}

/** In order of preference. */
const ADDRESS_TYPES = ['InternalIP', 'ExternalIP', 'Hostname'];

export function kubeletAddress(reader: Reader, name: string): KubeletAddress {
  const node = reader.get(nodes, { name });
  if (node === undefined) throw notFound(nodes, name);
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port;
  const host = addressOf(node);
  if (!port || host === undefined) {
    throw badRequest(
      `node "${name}" has no kubelet that serves logs, exec, attach and port-forward; a node that Berth simulates runs no ` +
        'containers: start a real one with `berth up --kubelet`, or join one with `berth node-credentials`',
    );
  }
  return { node: name, host, port };
}

function addressOf({ status }: Node): string | undefined {
  for (const type of ADDRESS_TYPES) {
    const found = status?.addresses?.find((each) => each.type === type);
    if (found) return found.address;
  }
  return undefined;
}

/** The kubelet could not be asked. */
export function kubeletUnreachable({ node, host, port }: KubeletAddress, why: string): KubeError {
  return new KubeError({
    reason: 'InternalError',
    code: 500,
    message: `the kubelet of node "${node}" at ${host}:${port} cannot be reached: ${why}`,
  });
}
