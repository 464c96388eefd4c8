// The page's HTTP server: loopback only, only with the link's token, and read-only unless actions are allowed. Caches start with the first visit and then run as
// long as the server does.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { secretValue } from '../runtime/log/secret-value.ts';
import type { Clock, Log, Random, SecretValue } from '../runtime/ports.ts';
import { onAbort } from '../runtime/time/on-abort.ts';
import { createGate } from './gate.ts';
import type { Live } from './live.ts';
import type { Observed, ObservedPorts } from './observed.ts';
import { CONTENT_SECURITY_POLICY, pageFile } from './page-files.ts';
import { type Message, subjectKinds } from './page-messages.ts';
import type { StepSource } from './step-source.ts';
import type { AskedSubject } from './subject-details.ts';

export interface DashboardOptions {
  /** Made when somebody first looks. */
  readonly ports: () => ObservedPorts;
  readonly stepSource?: StepSource;
  readonly version: string;
  /** URL of the API server, to be shown. */
  readonly server: string;
  /** A command that makes a first volume, to be shown while there is none. */
  readonly example: string;
  /** 0: any free one. */
  readonly port: number;
  /** Another port will do when that one is taken. */
  readonly isFlexible: boolean;
  /** With it the page can act, by the token of whoever looks. Without it there is no way to. */
  readonly actAs?: ActAs;
  /** At least 128 random bits. */
  readonly token: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** A client with the rights of a token, for one action. */
export type ActAs = (token: SecretValue<string>) => {
  readonly kube: Pick<KubeClient, 'delete' | 'patch'>;
  close(): Promise<void>;
};

export interface Dashboard {
  /** With the token: whoever has it sees the page. */
  readonly url: string;
  /** Resolves when it has ended. */
  readonly stopped: Promise<void>;
}

/** The same on every start, so that a page that is open finds it again. */
export const DASHBOARD_PORT = 7420;

const HOST = '127.0.0.1';
/** Keep-alive interval: proxies drop idle connections. */
const HEARTBEAT_MS = 15_000;
/** Bytes that a browser may lag behind before it is disconnected and starts over. */
const MOST_BEHIND = 16 << 20;
/** Characters of a request: a name and what to do with it. */
const MOST_BODY = 4096;

/** Of 244 bits, from the machine's own randomness. */
export const newToken = (random: Random): string => `${random.uuid()}${random.uuid()}`.replaceAll('-', '');

/** Resolves when it listens. */
export async function serveDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { signal, log, token } = options;
  // Not imported: an ESM import of `http` loads fetch and WebSocket too.
  const { createServer } = process.getBuiltinModule('node:http');
  const server = createServer();
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const stopped = new Promise<void>((resolve) => server.once('close', resolve));
  const door = new Door(options, port);
  server.on('error', (error) => log.error('the door of the page failed', error));
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    door.answer(request, response).catch((error: unknown) => {
      if (!signal.aborted)
        log.error('could not answer the page', error, { path: request.url?.split('?')[0] });
      if (response.headersSent) response.destroy();
      else say(response, 500, `This could not be answered: ${(error as Error).message}\n`);
    });
  });
  onAbort(signal, () => {
    server.close();
    // Event streams never end by themselves.
    server.closeAllConnections();
  });
  return { url: `http://${HOST}:${port}/?token=${token}`, stopped };
}

type Server = ReturnType<typeof import('node:http')['createServer']>;

async function listen(server: Server, { port, isFlexible }: DashboardOptions): Promise<void> {
  const on = (wanted: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: HOST, port: wanted }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  try {
    await on(port);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && isFlexible) return on(0);
    if (code === 'EADDRINUSE')
      throw new Error(`port ${port} for the page is taken; choose another, or 0 for any`);
    throw error;
  }
}

class Door {
  readonly #options: DashboardOptions;
  readonly #admit;
  /** Once, however often the server could not be reached: they follow it from then on. */
  #ports: ObservedPorts | undefined;
  #made: Promise<{ observed: Observed; live: Live }> | undefined;

  constructor(options: DashboardOptions, port: number) {
    this.#options = options;
    this.#admit = createGate(options.token, port);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '/', search = ''] = (request.url ?? '/').split('?', 2);
    const query = new URLSearchParams(search);
    const { host, cookie } = request.headers;
    const admission = this.#admit({ path, host, cookie, token: query.get('token') ?? undefined });
    if (admission.kind === 'refused') return say(response, admission.status, `${admission.says}\n`);
    const { actAs } = this.#options;
    if (actAs !== undefined && request.method === 'POST' && path === '/api/action')
      return this.#act(request, response, actAs);
    if (request.method !== 'GET') return say(response, 405, 'This page is only for reading.\n');
    if (admission.kind === 'welcome') {
      response.writeHead(303, { ...HEADERS, Location: '/', 'Set-Cookie': admission.cookie });
      response.end();
      return;
    }
    if (path === '/api/live') return this.#follow(response);
    if (path === '/api/history') return sayJson(response, 200, (await this.#make()).live.history());
    if (path === '/api/subject') return this.#tellSubject(query, response);
    const file = await pageFile(path);
    if (file === undefined) return say(response, 404, 'Not found.\n');
    say(response, 200, file.body, file.type);
  }

  async #follow(response: ServerResponse): Promise<void> {
    const { live } = await this.#make();
    const { clock } = this.#options;
    response.writeHead(200, { ...HEADERS, 'Content-Type': 'text/event-stream; charset=utf-8' });
    const send = (text: string): void => {
      response.write(text);
      // It cannot keep up. It reconnects by itself and gets the whole state again.
      if (response.writableLength > MOST_BEHIND) response.destroy();
    };
    const leave = live.join((message: Message) => send(`data: ${JSON.stringify(message)}\n\n`));
    const beat = (): void => {
      send(': still here\n\n');
      heart = clock.setTimeout(beat, HEARTBEAT_MS);
    };
    let heart = clock.setTimeout(beat, HEARTBEAT_MS);
    response.once('close', () => {
      heart.cancel();
      leave();
    });
  }

  async #tellSubject(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const kind = subjectKinds.find((each) => each === query.get('kind'));
    const name = query.get('name') ?? '';
    if (kind === undefined || name === '') {
      return sayJson(response, 400, { error: `a subject needs kind (${subjectKinds.join(', ')}) and name` });
    }
    const asked: AskedSubject = { kind, namespace: query.get('namespace') ?? '', name };
    const { observed } = await this.#make();
    const { subjectDetails } = await import('./subject-details.ts');
    const details = subjectDetails(observed.now(), asked, this.#options.stepSource);
    if (details === undefined) return sayJson(response, 404, { error: `there is no ${kind} ${name}` });
    sayJson(response, 200, details);
  }

  async #act(request: IncomingMessage, response: ServerResponse, actAs: ActAs): Promise<void> {
    const { host, origin, authorization = '' } = request.headers;
    // The cookie is not sent from other sites, and they cannot set this header without being asked: this is the third lock.
    if (origin !== `http://${host}`)
      return sayJson(response, 403, { says: 'Actions are only for this page.' });
    const [, token] = /^Bearer (\S+)$/.exec(authorization) ?? [];
    if (token === undefined) return sayJson(response, 401, { says: 'an action needs a token of your own' });
    const { parseAction, performAction } = await import('./actions.ts');
    const asked = parseAction(await bodyOf(request));
    if (asked === undefined) return sayJson(response, 400, { says: 'this is no action' });
    const { observed } = await this.#make();
    const acting = actAs(secretValue(token));
    try {
      const { clock, signal } = this.#options;
      const { status, says } = await performAction(
        { kube: acting.kube, observation: observed.now(), nowMs: clock.now(), signal },
        asked,
      );
      sayJson(response, status, { says });
    } finally {
      await acting.close();
    }
  }

  #make(): Promise<{ observed: Observed; live: Live }> {
    this.#made ??= this.#observe().catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    return this.#made;
  }

  async #observe(): Promise<{ observed: Observed; live: Live }> {
    const { clock, log, stepSource, server, signal, version, example } = this.#options;
    const [{ observe }, { Live }] = await Promise.all([import('./observed.ts'), import('./live.ts')]);
    this.#ports ??= this.#options.ports();
    const observed = await observe(this.#ports, signal);
    const { unread } = observed.now();
    const allowsActions = this.#options.actAs !== undefined;
    const about = { version, server, hasHistory: stepSource !== undefined, unread, example, allowsActions };
    return { observed, live: new Live({ about, observed, stepSource, clock, log }) };
  }
}

/** Empty when it is longer than any request. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > MOST_BODY) return '';
  }
  return text;
}

const HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

function say(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { ...HEADERS, 'Content-Type': type });
  response.end(body);
}

function sayJson(response: ServerResponse, status: number, body: unknown): void {
  say(response, status, JSON.stringify(body), 'application/json; charset=utf-8');
}
