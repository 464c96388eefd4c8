// Which path of the kubelet a client's request becomes, as rows of query and path or problem.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/kinds.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { type PodStream, podStreamPath } from './pod-stream.ts';

const named = (...names: string[]) => names.map((name) => ({ name, image: 'i' }));
const pod = (spec: object = {}): Pod =>
  ({
    metadata: { namespace: 'ns', name: 'p' },
    spec: { nodeName: 'n', containers: named('c'), ...spec },
  }) as unknown as Pod;
const several = pod({
  containers: named('a', 'b'),
  initContainers: named('i'),
  ephemeralContainers: named('e'),
});
const waiting = pod({ nodeName: undefined });

const paths: [what: string, pod: Pod, stream: PodStream, query: string, path: string][] = [
  ['the log of the only container', pod(), 'log', '', '/containerLogs/ns/p/c'],
  ['the log of a container', several, 'log', 'container=b', '/containerLogs/ns/p/b'],
  ['the log of an init container', several, 'log', 'container=i', '/containerLogs/ns/p/i'],
  ['the log of an ephemeral container', several, 'log', 'container=e', '/containerLogs/ns/p/e'],
  ['the log of a pod without a node', waiting, 'log', 'container=c', '/containerLogs/ns/p/c'],
  [
    'all options of a log, and no others',
    pod(),
    'log',
    'follow=true&previous=1&timestamps=t&sinceSeconds=1&sinceTime=x&tailLines=2&limitBytes=3&stream=All&q=1',
    '/containerLogs/ns/p/c?follow=true&previous=1&timestamps=t&sinceSeconds=1&sinceTime=x&tailLines=2&limitBytes=3&stream=All',
  ],
  ['an empty option', pod(), 'log', 'tailLines=', '/containerLogs/ns/p/c?tailLines='],
  [
    'a command',
    pod(),
    'exec',
    'command=a&command=b%20c&stdout=1',
    '/exec/ns/p/c?output=1&command=a&command=b+c',
  ],
  [
    'every stream',
    pod(),
    'attach',
    'stdin=true&stdout=T&stderr=1&tty=True',
    '/attach/ns/p/c?input=1&output=1&error=1&tty=1',
  ],
  [
    'streams that are not wanted',
    pod(),
    'attach',
    'stdin=true&stdout=false&stderr=0&tty=',
    '/attach/ns/p/c?input=1',
  ],
  ['attaching needs no command', pod(), 'attach', 'stderr=1&command=a', '/attach/ns/p/c?error=1'],
  ['ports', pod(), 'portforward', 'ports=80&ports=81', '/portForward/ns/p?port=80&port=81'],
  ['no ports, of a pod with several containers', several, 'portforward', '', '/portForward/ns/p'],
];
for (const [what, of, stream, query, path] of paths) {
  test(`[REAL-1] ${stream}: ${what}`, () =>
    assert.equal(podStreamPath(of, stream, new URLSearchParams(query)), path));
}

const problems: [what: string, pod: Pod, stream: PodStream, query: string, problem: RegExp][] = [
  ['no container of two', pod({ containers: named('a', 'b') }), 'log', '', /choose one of: \[a b\]$/],
  [
    'no container of several kinds',
    several,
    'log',
    '',
    /choose one of: \[a b\] or one of the init or ephemeral containers: \[i e\]$/,
  ],
  ['a container of no pod', several, 'log', 'container=x', /container x is not valid for pod p/],
  ['no node', waiting, 'exec', 'container=c&command=a&stdout=1', /pod p does not have a host assigned/],
  ['no node to attach to', waiting, 'attach', 'container=c&stdout=1', /does not have a host assigned/],
  ['no command', pod(), 'exec', 'stdout=1', /a command for the container must be given/],
  ['no stream', pod(), 'attach', 'tty=1', /at least one of stdin, stdout and stderr/],
  ['streams that are not wanted', pod(), 'exec', 'command=a&stdin=no&stdout=0', /at least one of/],
];
for (const [what, of, stream, query, problem] of problems) {
  test(`[REAL-1] ${stream} is rejected: ${what}`, () =>
    assert.throws(
      () => podStreamPath(of, stream, new URLSearchParams(query)),
      (error) => error instanceof KubeError && error.code === 400 && problem.test(error.message),
    ));
}
