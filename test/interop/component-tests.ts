// Component tests of the control plane, once on the embedded API server and once on a real kube-apiserver: they pass on
// both, and each leaves the same state. Needs the official programs of BERTH_PEERS.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Container, Volume } from 'kubernetes-types/core/v1.js';
import type { KubeObject } from '../../src/api/object.ts';
import { missingPeers } from '../capabilities.ts';
import { type KubeApiserver, startKubeApiserver } from './kube-apiserver.ts';
import { type PlainState, plainState } from './plain-state.ts';

const root = fileURLToPath(new URL('../../src/control-plane/', import.meta.url));
/** Tests whose states differ by nature: they say themselves what must hold. */
const DIFFERENT = new Set([
  // Who gets which of several that fit is chance.
  'a hundred claims are bound concurrently without conflicts',
  'of two claims for one volume one waits, with a reason, until there is another',
  // The embedded server keeps fields of inline volumes that Kubernetes does not know.
  'an ephemeral inline volume is never attached, whether or not it has a handle',
]);

/**
 * What admission that has nothing to do with volumes fills in on one server and not on the other. So does the volume
 * with the account's token: the real server runs without the ServiceAccount plugin here.
 */
const NOT_OURS = [
  'preemptionPolicy',
  'priority',
  'serviceAccount',
  'serviceAccountName',
  'tolerations',
] as const;

/** Declares a test for each file, given below src/control-plane and without its ending. */
export function sameOnBothServers(files: readonly string[]): void {
  describe('the control plane on a real kube-apiserver', {
    skip: missingPeers('etcd', 'kube-apiserver'),
  }, () => {
    let directory = '';
    let server: KubeApiserver | undefined;
    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'cp-'));
      server = await startKubeApiserver(directory);
    });
    after(async () => {
      await server?.stop();
      await rm(directory, { recursive: true, force: true });
    });
    for (const file of files) {
      test(`${file} passes and leaves the states that it leaves on the embedded server`, async () => {
        const embedded = await run(file, join(directory, 'embedded', file));
        const real = await run(file, join(directory, 'real', file), server?.kubeconfig);
        assert.notEqual(Object.keys(real).length, 0);
        for (const [title, state] of Object.entries(real)) {
          if (!DIFFERENT.has(title)) assert.deepEqual(state, embedded[title], title);
        }
      });
    }
  });
}

/** What each test of the file left. */
async function run(file: string, states: string, kubeconfig?: string): Promise<Record<string, PlainState>> {
  await mkdir(states, { recursive: true });
  const { BERTH_COMPONENT_SERVER, NODE_TEST_CONTEXT, ...inherited } = process.env;
  const child = spawn(process.execPath, ['--test-timeout=50000', join(root, `${file}.test.ts`)], {
    env: {
      ...inherited,
      BERTH_COMPONENT_STATES: states,
      ...(kubeconfig !== undefined && { BERTH_COMPONENT_SERVER: kubeconfig }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(code, 0, output);
  const files = await readdir(states);
  const entries = await Promise.all(
    files.map(async (name) => {
      const { title, objects } = JSON.parse(await readFile(join(states, name), 'utf8'));
      return [title, plainState(objects.map(withoutOthers))] as const;
    }),
  );
  return Object.fromEntries(entries);
}

/** kube-apiserver writes it from 1.37 on; the embedded server is as 1.36. It is also what happens without it. */
function withoutNewDefault(set: KubeObject & { spec?: Record<string, unknown> }): KubeObject {
  const { rollingUpdate, ...strategy } = (set.spec?.updateStrategy ?? {}) as {
    rollingUpdate?: { maxUnavailable?: number };
  };
  if (rollingUpdate?.maxUnavailable !== 1) return set;
  const { maxUnavailable: _default, ...others } = rollingUpdate;
  return {
    ...set,
    spec: { ...set.spec, updateStrategy: { ...strategy, rollingUpdate: others } },
  } as KubeObject;
}

function withoutOthers(object: KubeObject & { spec?: Record<string, unknown> }): KubeObject {
  if (object.kind === 'StatefulSet') return withoutNewDefault(object);
  if (object.kind !== 'Pod') return object;
  const spec = { ...object.spec };
  for (const field of NOT_OURS) delete spec[field];
  const isOurs = ({ name = '' }: { name?: string }): boolean => !name.startsWith('kube-api-access-');
  const volumes = ((spec.volumes ?? []) as Volume[]).filter(isOurs);
  const containers = ((spec.containers ?? []) as Container[]).map((container) => ({
    ...container,
    volumeMounts: (container.volumeMounts ?? []).filter(isOurs),
  }));
  return { ...object, spec: { ...spec, volumes, containers } } as KubeObject;
}
