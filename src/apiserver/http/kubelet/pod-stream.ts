// Which path of the kubelet answers a pod's `log`, `exec`, `attach` and `portforward`: pure, with the checks that
// kube-apiserver makes before it asks the kubelet.

import type { Pod } from '../../../api/kinds.ts';
import { badRequest } from '../../verbs/status.ts';

export type PodStream = 'log' | 'exec' | 'attach' | 'portforward';

/** Query parameters of `log` that the kubelet takes under the same name. */
const LOG_OPTIONS = [
  'follow',
  'previous',
  'timestamps',
  'sinceSeconds',
  'sinceTime',
  'tailLines',
  'limitBytes',
  'stream',
];
/** Names of a client's streams, and what the kubelet calls them. */
const STREAMS = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' };

/** A path with query. Throws when the pod cannot have such a stream. */
export function podStreamPath(pod: Pod, stream: PodStream, query: URLSearchParams): string {
  const { name, namespace = '' } = pod.metadata;
  const asked = new URLSearchParams();
  const path = (root: string, ...parts: string[]): string =>
    `/${[root, namespace, name, ...parts].map(encodeURIComponent).join('/')}${asked.size > 0 ? `?${asked}` : ''}`;
  if (stream === 'portforward') {
    for (const port of query.getAll('ports')) asked.append('port', port);
    return path('portForward');
  }
  const container = containerOf(pod, query.get('container') ?? '', stream);
  if (stream === 'log') {
    for (const option of LOG_OPTIONS) {
      const value = query.get(option);
      if (value !== null) asked.set(option, value);
    }
    return path('containerLogs', container);
  }
  for (const [theirs, ours] of Object.entries(STREAMS)) {
    if (isTrue(query.get(theirs))) asked.set(ours, '1');
  }
  if (!['input', 'output', 'error'].some((each) => asked.has(each))) {
    throw badRequest('at least one of stdin, stdout and stderr must be requested');
  }
  if (stream === 'exec') {
    const command = query.getAll('command');
    if (command.length === 0) throw badRequest('a command for the container must be given');
    for (const part of command) asked.append('command', part);
  }
  return path(stream, container);
}

function containerOf({ metadata, spec }: Pod, asked: string, stream: PodStream): string {
  const own = spec.containers.map(({ name }) => name);
  const others = [...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].map(
    ({ name }) => name,
  );
  if (asked === '') {
    const [only, second] = own;
    if (only !== undefined && second === undefined) return only;
    const further =
      others.length > 0 ? ` or one of the init or ephemeral containers: [${others.join(' ')}]` : '';
    throw badRequest(
      `a container name must be specified for pod ${metadata.name}, choose one of: [${own.join(' ')}]${further}`,
    );
  }
  if (!own.includes(asked) && !others.includes(asked)) {
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
  }
  if (!spec.nodeName && stream !== 'log')
    throw badRequest(`pod ${metadata.name} does not have a host assigned`);
  return asked;
}

const isTrue = (text: string | null): boolean => text !== null && /^(1|t|true)$/i.test(text);
