// `berth manifests --diff`: what a cluster has, against what would be printed, on the embedded and on the real API server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { run } from '../e2e/up-process.ts';
import { apiServers } from './api-servers.ts';
import { runManifests } from './print-manifests.ts';

const LEFT_OVER = 'in the cluster, and not among what is printed: left over from other flags';
const usual = ['--driver-name=some.csi.test', '--image=driver:1', '--arg=driver=--x'];

for (const { name, missing, start } of apiServers) {
  const skip = lacking('kubectl') || missing;
  for (const serverSide of ['false', 'true']) {
    test(`[DEP-2] differences are told by field, server-side apply ${serverSide}, on ${name}`, {
      skip,
    }, async (t) => {
      const kubeconfig = await start(t);
      const kubectl = async (args: readonly string[], input = ''): Promise<void> => {
        const { code, stderr } = await run('kubectl', ['--kubeconfig', kubeconfig, ...args], { input });
        assert.equal(code, 0, stderr);
      };
      const diff = async (...flags: string[]) => {
        const { code, stdout, stderr } = await runManifests([
          ...usual,
          ...['--diff', `--kubeconfig=${kubeconfig}`, ...flags],
        ]);
        assert.equal(stderr, '');
        return { code, lines: stdout.trimEnd().split('\n') };
      };
      const before = await diff();
      assert.equal(before.code, 1);
      assert(before.lines.includes('daemonset/some-csi-test-node in kube-system: missing in the cluster'));

      const apply = async (...flags: string[]) => {
        const { stdout } = await runManifests([...usual, ...flags]);
        await kubectl(['apply', `--server-side=${serverSide}`, '-f', '-'], stdout);
      };
      await apply('--replicas=2');
      assert.deepEqual(await diff('--replicas=2'), {
        code: 0,
        lines: [`all ${before.lines.length} objects are as printed`],
      });

      // Changed by hand: a field that the manifests set, one that they do not, and a role that is gone.
      const target = ['-n', 'kube-system', 'deployment/some-csi-test-controller'];
      await kubectl(['scale', ...target, '--replicas=5']);
      await kubectl(['annotate', ...target, 'a=b']);
      await kubectl(['delete', 'clusterrole', 'external-attacher-runner-some-csi-test']);
      const changed = await diff('--replicas=2');
      assert.equal(changed.code, 1);
      assert.deepEqual(changed.lines, [
        'clusterrole/external-attacher-runner-some-csi-test: missing in the cluster',
        'deployment/some-csi-test-controller in kube-system: differs',
        '  spec.replicas: 5 in the cluster, 2 here',
        '2 objects differ from what is printed',
      ]);

      // Other flags: what the former ones had is left over, fields and objects.
      await kubectl(['scale', ...target, '--replicas=2']);
      await apply('--replicas=2');
      const fewer = await diff('--sidecars=provisioner,resizer,snapshotter,node-registrar');
      const rest = fewer.lines.filter((line) => !line.startsWith('  '));
      assert.deepEqual(rest.toSorted(), [
        '10 objects differ from what is printed',
        `clusterrole/external-attacher-runner-some-csi-test: ${LEFT_OVER}`,
        `clusterrolebinding/csi-attacher-role-some-csi-test: ${LEFT_OVER}`,
        'csidriver/some.csi.test: differs',
        'daemonset/some-csi-test-node in kube-system: differs',
        'deployment/some-csi-test-controller in kube-system: differs',
        'networkpolicy/some-csi-test-controller in kube-system: differs',
        'networkpolicy/some-csi-test-node in kube-system: differs',
        `poddisruptionbudget/some-csi-test-controller in kube-system: ${LEFT_OVER}`,
        `role/external-attacher-cfg-some-csi-test in kube-system: ${LEFT_OVER}`,
        `rolebinding/csi-attacher-role-cfg-some-csi-test in kube-system: ${LEFT_OVER}`,
      ]);
      const told = fewer.lines.join('\n');
      assert.match(told, /cannot be applied: .*attachedRequired: Invalid value: false: field is immutable/);
      assert.match(told, /containers\[liveness-probe\]: .* in the cluster, not set here/);
      assert.match(told, /containers\[driver\]\.livenessProbe.*: .* in the cluster, not set here/);
    });
  }
}
