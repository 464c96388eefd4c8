// Resource requests: determines kind and verb from method and path, runs the verb, and responds in the negotiated
// representation.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { User } from '../pipeline.ts';
import { openRequest, read } from '../verbs/dispatch.ts';
import { type ListAnswer, listSteps } from '../verbs/read/list.ts';
import { watch } from '../verbs/read/watch.ts';
import type { Machine, ResourceRequest } from '../verbs/request.ts';
import { methodNotAllowed } from '../verbs/status.ts';
import { addWarnings } from './answer.ts';
import { answerList, answerResource, includeObjectOf } from './answer-resource.ts';
import type { BodyReader } from './body-reader.ts';
import type { ClientQuota } from './client-quota.ts';
import type { FairQueue, Steps } from './fair-queue.ts';
import { writeOverHttp } from './handle-write.ts';
import { type ConnectExchange, handleConnect, isConnect } from './kubelet/handle-connect.ts';
import { type MediaChoice, negotiate } from './negotiation.ts';
import { readBoolean, readInteger, readListParameters, readWatchParameters } from './query.ts';
import type { RequestInfo, ResourcePath } from './request-info.ts';
import { streamWatch } from './watch-stream.ts';
import type { YamlConverter } from './yaml/yaml-converter.ts';

export interface ResourceExchange {
  machine: Machine;
  message: IncomingMessage;
  response: ServerResponse;
  info: RequestInfo;
  path: ResourcePath;
  user: User;
  /** The authenticated user's name, also when it impersonates: limits and turns are counted for it. */
  client: string;
  pretty: boolean;
  bodies: BodyReader;
  yaml: YamlConverter;
  fair: FairQueue;
  watches: ClientQuota;
}

/**
 * Watches without a time-out end after a random time between half an hour and an hour, so that they do not all return
 * at once.
 */
const MIN_WATCH_MS = 1_800_000;

/** The verb for authorizers and metrics; undefined for a method that Kubernetes does not use. */
export function verbOf(
  method: string,
  { name, watches }: ResourcePath,
  query: URLSearchParams,
): string | undefined {
  switch (method) {
    case 'GET':
      if (watches || readBoolean(query, 'watch')) return 'watch';
      return name === '' ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      return undefined;
  }
}

export async function handleResource(exchange: ConnectExchange): Promise<void> {
  const { machine, message, info, path, user, fair, client } = exchange;
  const { group, version, plural } = path;
  const method = message.method ?? '';
  const verb = verbOf(method, path, info.query);
  if (verb === undefined) throw methodNotAllowed(method, path);
  if (isConnect(path)) return handleConnect(exchange, verb);
  const fieldSelector = info.query.get('fieldSelector') || undefined;
  const known = machine.registry.find(group, version, plural);
  const request = openRequest(machine, { ...path, user, verb, fieldSelector }, known);
  const { kind } = request;
  if (kind.deprecation) addWarnings(exchange.response, [kind.deprecation]);
  const media = negotiate(message.headers.accept);
  switch (verb) {
    case 'get': {
      const resourceVersion = info.query.get('resourceVersion') ?? undefined;
      return fair.once(client, () =>
        answerResource(exchange, { kind, media, answer: read(machine, request, resourceVersion) }),
      );
    }
    case 'list': {
      const parameters = readListParameters(info.query);
      return answerList(exchange, { kind, media, find: () => listSteps(machine, request, parameters) });
    }
    case 'watch':
      return watchOverHttp(exchange, media, request);
    default: {
      const { answer, warnings } = await writeOverHttp(exchange, verb, request);
      if (answer.kind !== 'list') {
        return fair.once(client, () => answerResource(exchange, { kind, media, answer, warnings }), {
          goesOn: true,
        });
      }
      // biome-ignore lint/correctness/useYield: it is there already.
      const find = function* (): Steps<ListAnswer> {
        return answer.list;
      };
      return answerList(exchange, { kind, media, find });
    }
  }
}

async function watchOverHttp(
  exchange: ResourceExchange,
  media: MediaChoice,
  request: ResourceRequest,
): Promise<void> {
  const { machine, response, info, fair, client, watches } = exchange;
  const parameters = readWatchParameters(info.query);
  const asked = readInteger(info.query, 'timeoutSeconds');
  const timeoutMs = asked && asked > 0 ? asked * 1000 : MIN_WATCH_MS * (1 + machine.random.next());
  const giveBack = watches.take(client);
  try {
    await fair.once(client, () =>
      streamWatch({
        machine,
        response,
        kind: request.kind,
        media,
        includeObject: includeObjectOf(info),
        allowBookmarks: parameters.allowBookmarks ?? false,
        timeoutMs,
        start: () => watch(machine, request, parameters),
        takeTurns: (work) => fair.run(client, work, { goesOn: true }),
      }),
    );
  } finally {
    giveBack();
  }
}
