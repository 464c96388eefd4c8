// One request and its answer at the HTTPS door: authenticates the client, counts the request and its connection, hands it to
// the handler for its path, and turns an error into a Status.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { PathHandler } from '../../runtime/process/path-handler.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { impersonate } from '../auth/impersonation.ts';
import type { User } from '../pipeline.ts';
import type { Machine } from '../verbs/request.ts';
import { badRequest } from '../verbs/status.ts';
import { answerError } from './answer.ts';
import type { BodyReader } from './body-reader.ts';
import type { ClientQuota } from './client-quota.ts';
import type { OpenDocuments } from './documents.ts';
import type { FairQueue } from './fair-queue.ts';
import { handleOther } from './handle-other.ts';
import { handleResource } from './handle-resource.ts';
import { isConnect } from './kubelet/handle-connect.ts';
import type { KubeletClient } from './kubelet/kubelet-client.ts';
import type { Upgrade } from './kubelet/kubelet-proxy.ts';
import type { RequestMetrics } from './metrics.ts';
import { readRequestInfo } from './request-info.ts';
import { labelsOf } from './request-labels.ts';
import type { YamlConverter } from './yaml/yaml-converter.ts';

/** State that all requests share. */
export interface DoorState {
  readonly machine: Machine;
  readonly authenticator: Authenticator;
  /** Why the server is not ready; undefined when it is. */
  unready(): string | undefined;
  /** Handlers of paths beyond Kubernetes' own, subject to RBAC. */
  readonly paths?: Readonly<Record<string, PathHandler>>;
  readonly metrics: RequestMetrics;
  readonly documents: OpenDocuments;
  readonly bodies: BodyReader;
  readonly yaml: YamlConverter;
  readonly fair: FairQueue;
  readonly kubelet: KubeletClient;
  readonly watches: ClientQuota;
  readonly connections: ClientQuota;
}

/** Never rejects because of what a client sent. `upgrade`: the connection, if the client asks to change its protocol. */
export async function exchange(
  door: DoorState,
  message: IncomingMessage,
  response: ServerResponse,
  upgrade: Upgrade | undefined,
): Promise<void> {
  const { machine, metrics } = door;
  // The client has disconnected: there is nobody to answer.
  response.on('error', () => {});
  const info = readRequestInfo(message.url ?? '/');
  const pretty = info?.query.get('pretty') === 'true' || info?.query.get('pretty') === '1';
  const labels = labelsOf(machine.registry, message, info);
  const over = metrics.start(labels, {
    longRunning: labels.verb === 'WATCH' || (info?.target.kind === 'resource' && isConnect(info.target)),
    mutating: !['GET', 'LIST', 'WATCH', 'HEAD'].includes(labels.verb),
  });
  response.on('close', () => over(response.statusCode));
  try {
    if (info === undefined) throw badRequest('the path is not properly encoded');
    const { user, client } = userOf(door, message);
    const asked = { message, response, info, user, client, pretty };
    if (info.target.kind === 'resource')
      await handleResource({ ...door, ...asked, upgrade, path: info.target });
    else await handleOther({ ...door, ...asked });
  } catch (error) {
    if (!(error instanceof KubeError)) {
      machine.log.error('a request failed', error, { method: message.method, path: info?.path });
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    // Anything more that the client sends would be parsed as the next request. A connection that no client is charged for is closed.
    if (!message.complete || !counted.has(message.socket)) response.setHeader('Connection', 'close');
    answerError(response, error, pretty);
    if (!message.complete) message.resume();
  }
}

/** Connections that count for a client. */
const counted = new WeakSet<Socket>();

/** A connection counts for the client of its first request. */
function countConnection({ connections }: DoorState, socket: Socket, client: string): void {
  if (counted.has(socket)) return;
  const giveBack = connections.take(client);
  counted.add(socket);
  if (socket.destroyed) giveBack();
  else socket.once('close', giveBack);
}

const certificates = new WeakMap<TLSSocket, { raw?: Uint8Array }>();

/** The user that is authorized, and the one whose limits count. */
function userOf(door: DoorState, message: IncomingMessage): { user: User; client: string } {
  const { authenticator, machine } = door;
  const socket = message.socket as TLSSocket;
  // Decoding the certificate costs more than the rest of a small request: once per connection.
  let peerCertificate = certificates.get(socket);
  if (peerCertificate === undefined) {
    const raw = socket.getPeerX509Certificate()?.raw;
    peerCertificate = raw === undefined ? {} : { raw };
    certificates.set(socket, peerCertificate);
  }
  const verdict = authenticator.authenticate({
    peerCertificate,
    authorizationHeader: message.headers.authorization,
  });
  if ('error' in verdict) throw verdict.error;
  const { user } = verdict;
  countConnection(door, socket, user.name);
  const impersonates = message.rawHeaders.some((text) => /^impersonate-/i.test(text));
  const client = user.name;
  if (!impersonates) return { user, client };
  const { authorizer } = machine;
  return { user: impersonate({ user, headers: message.headersDistinct, authorizer }), client };
}
