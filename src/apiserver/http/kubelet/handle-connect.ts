// The subresources that a kubelet answers: `log`, `exec`, `attach` and `portforward` of pods, `proxy` of nodes. Authorizes,
// finds the kubelet, and hands over to the proxy.

import { type Pod, pods } from '../../../api/kinds.ts';
import { createStoreReader } from '../../storage/store-reader.ts';
import { authorize } from '../../verbs/request.ts';
import { badRequest, methodNotAllowed, notFound } from '../../verbs/status.ts';
import type { ResourceExchange } from '../handle-resource.ts';
import type { RequestInfo, ResourcePath } from '../request-info.ts';
import { kubeletAddress } from './kubelet-address.ts';
import type { KubeletClient } from './kubelet-client.ts';
import { forward, type Upgrade } from './kubelet-proxy.ts';
import { type PodStream, podStreamPath } from './pod-stream.ts';

export interface ConnectExchange extends ResourceExchange {
  readonly kubelet: KubeletClient;
  readonly upgrade: Upgrade | undefined;
}

const STREAMS: readonly string[] = ['log', 'exec', 'attach', 'portforward'];

export function isConnect({ group, plural, name, subresource }: ResourcePath): boolean {
  if (group !== '' || name === '') return false;
  return plural === 'nodes' ? subresource === 'proxy' : plural === 'pods' && STREAMS.includes(subresource);
}

export async function handleConnect(exchange: ConnectExchange, verb: string): Promise<void> {
  const { machine, message, response, path, user, kubelet, upgrade, info } = exchange;
  const { group, version, plural, subresource, namespace, name } = path;
  const { node: nodeName, port } = plural === 'nodes' ? splitPort(name) : { node: '', port: undefined };
  const about = {
    user,
    group,
    version,
    plural,
    subresource,
    namespace,
    name: plural === 'nodes' ? nodeName : name,
  };
  authorize(machine, { ...about, verb });
  const isInteractive = plural === 'pods' && subresource !== 'log';
  // WebSocket clients send GET: reading pods must not be enough to run something in one.
  if (isInteractive && verb !== 'create') authorize(machine, { ...about, verb: 'create' });
  const reader = createStoreReader(machine.store);
  const common = { message, response, upgrade, kubelet, stopping: machine.stopping };
  if (plural === 'nodes') {
    const to = kubeletAddress(reader, nodeName);
    if (port !== undefined && port !== to.port) {
      throw badRequest(`only the kubelet's port ${to.port} of node "${nodeName}" is proxied, not ${port}`);
    }
    await forward({ ...common, to, path: proxiedPath(info) });
    return;
  }
  const allowed = subresource === 'log' ? ['get'] : ['get', 'create'];
  if (!allowed.includes(verb)) throw methodNotAllowed(verb, { group, plural: `${plural}/${subresource}` });
  const pod = reader.get(pods, { name, namespace: namespace ?? '' });
  if (pod === undefined) throw notFound(pods, name);
  const stream = subresource as PodStream;
  const wanted = podStreamPath(pod as Pod, stream, info.query);
  if (!pod.spec.nodeName) {
    if (isInteractive) throw badRequest(`pod ${name} does not have a host assigned`);
    // A pod that no node has yet has written nothing.
    response.writeHead(204).end();
    return;
  }
  if (isInteractive && upgrade === undefined) {
    throw badRequest(
      `${subresource} needs a connection that switches to SPDY/3.1 or WebSocket (Upgrade header)`,
    );
  }
  await forward({ ...common, to: kubeletAddress(reader, pod.spec.nodeName), path: wanted });
}

/** `NAME`, `NAME:PORT` or `https:NAME:PORT`. */
function splitPort(text: string): { node: string; port: number | undefined } {
  const [, node = '', port] = /^(?:https:)?([^:]*)(?::(\d*))?$/.exec(text) ?? [];
  return { node: node || text, port: port ? Number(port) : undefined };
}

/** What follows `/api/v1/nodes/NAME/proxy`, as the client wrote it. */
function proxiedPath({ path, query }: RequestInfo): string {
  const rest = path.split('/').slice(6).join('/');
  return `/${rest}${query.size > 0 ? `?${query}` : ''}`;
}
