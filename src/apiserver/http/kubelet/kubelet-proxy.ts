// Passes a request on to a kubelet, and its answer back: as HTTP, or, once the kubelet has agreed to switch protocols (SPDY/3.1
// or WebSocket), as bytes in both directions. Ends both sides when either ends or the server stops.

import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { type KubeletAddress, kubeletUnreachable } from './kubelet-address.ts';
import type { KubeletClient } from './kubelet-client.ts';

/** A client's connection after its request to switch protocols. */
export interface Upgrade {
  readonly socket: Duplex;
  /** What the client sent after the request. */
  readonly head: Buffer;
}

export interface Forwarded {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** Present when the client asks to switch protocols. */
  readonly upgrade: Upgrade | undefined;
  readonly to: KubeletAddress;
  /** Of the kubelet, with query. */
  readonly path: string;
  readonly kubelet: KubeletClient;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
}

/** Concern one connection only (RFC 9110, 7.6.1), or this server's credentials. */
const NOT_PASSED = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'authorization',
  'expect',
];
/** Of a kubelet's error that are shown. */
const MOST_ERROR_BYTES = 16 * 1024;

/** Resolves when the exchange is over. Rejects, before anything was answered, when the kubelet cannot be reached or refuses. */
export function forward(forwarded: Forwarded): Promise<void> {
  const { message, response, upgrade, to, path, kubelet, stopping } = forwarded;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const headers = passedOn(message.headers);
  if (upgrade) Object.assign(headers, { connection: 'Upgrade', upgrade: message.headers.upgrade });
  const request = kubelet({ to, method: message.method ?? 'GET', path, headers });
  let joined: Duplex | undefined;
  const end = (): void => {
    request.destroy();
    joined?.destroy();
    upgrade?.socket.destroy();
    if (response.headersSent) response.destroy();
    resolve();
  };
  stopping.addEventListener('abort', end, { once: true });
  void promise.finally(() => stopping.removeEventListener('abort', end)).catch(() => {});
  // The client has left.
  response.once('close', () => {
    if (joined === undefined) end();
  });
  request.on('error', (error) => {
    if (response.headersSent || joined) end();
    else reject(kubeletUnreachable(to, error.message));
  });
  request.on('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (upgrade === undefined) {
      socket.destroy();
      reject(kubeletUnreachable(to, 'it switches protocols unasked'));
      return;
    }
    joined = socket;
    response.detachSocket(upgrade.socket as never);
    join(upgrade, { answer, socket, head }, end);
  });
  request.on('response', (answer) => {
    const code = answer.statusCode ?? 502;
    // Also a kubelet that answers 200 instead of switching: the client can do nothing with that.
    if (code >= 400 || upgrade) {
      readError(answer).then(
        (text) => reject(errorOf(code, text)),
        (error: Error) => reject(kubeletUnreachable(to, error.message)),
      );
      return;
    }
    response.writeHead(code, passedOn(answer.headers));
    // Otherwise Node holds the headers back until the first line of a log.
    response.flushHeaders();
    answer.on('error', end);
    answer.pipe(response);
    response.once('finish', resolve);
  });
  if (upgrade) request.end();
  else message.pipe(request);
  return promise;
}

function passedOn(headers: IncomingHttpHeaders): OutgoingHttpHeaders & IncomingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => !NOT_PASSED.includes(name));
  return Object.fromEntries(kept);
}

/** The kubelet's answer goes to the client as it is, then both are one connection. */
function join(
  { socket: client, head: early }: Upgrade,
  kubelet: { answer: IncomingMessage; socket: Duplex; head: Buffer },
  end: () => void,
): void {
  const { rawHeaders } = kubelet.answer;
  const lines = [`HTTP/1.1 101 Switching Protocols`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  client.write(`${lines.join('\r\n')}\r\n\r\n`);
  client.write(kubelet.head);
  kubelet.socket.write(early);
  for (const each of [client, kubelet.socket]) each.on('error', end);
  client.on('close', end);
  // What the kubelet said last, such as an exit code, may not have been sent yet.
  kubelet.socket.on('close', () => (client.writableFinished ? end() : client.once('finish', end)));
  client.pipe(kubelet.socket);
  kubelet.socket.pipe(client);
}

async function readError(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer) {
    text += chunk;
    if (text.length > MOST_ERROR_BYTES) break;
  }
  return text.slice(0, MOST_ERROR_BYTES).trim();
}

/** As kube-apiserver: the kubelet's words under the status it gave. */
function errorOf(code: number, text: string): KubeError {
  const message = text || `the kubelet answered with status ${code}`;
  if (code === 404) return new KubeError({ reason: 'NotFound', code, message });
  if (code >= 400 && code < 500) return new KubeError({ reason: 'BadRequest', code, message });
  return new KubeError({ reason: 'InternalError', code: code >= 500 ? code : 502, message });
}
