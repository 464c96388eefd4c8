// The views of the page in a real browser, on one cluster: causes, details, widths, and text of others.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  csiStorageCapacities,
  events,
  persistentVolumeClaims,
  pods,
  roleBindings,
  roles,
  serviceAccounts,
  storageClasses,
} from '../../src/api/kinds.ts';
import type { KubeObject, Resource } from '../../src/api/object.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { claim, must, openPage, pageOf, skip } from './page-process.ts';
import { EXAMPLES, startUp, temporaryDirectory, undoAfter } from './up-process.ts';

// One cluster for all of them: to start one for each would take longer than all they do.
test('the views of the page', { skip, timeout: 150_000 }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), [
    '--dashboard-port=0',
    '--allow-actions',
  ]);
  const kube = createHttpKubeClient({
    config: await loadKubeConfig({ env: {}, path: up.kubeconfig }),
    clock: realClock,
    random: realRandom,
    log: silentLog,
  });
  undoAfter(t, () => kube.close());
  const make = <T extends KubeObject>(resource: Resource<T>, object: object): Promise<T> =>
    kube.create(resource, object as never);
  const { page, complaints } = await openPage(t, await pageOf(up));
  const { origin } = new URL(page.url());

  await t.test(
    'details of a snapshot, its group, a node, a driver and a class, each reached by a link',
    async () => {
      await must(['apply', '-f', join(EXAMPLES, 'group-snapshot.yaml')], up);
      const details = page.getByTestId('details');
      const titled = (title: string) => details.getByRole('heading', { level: 2, name: title });

      await page.goto(`${origin}/#/snapshots`);
      await page.locator('[data-testid="group-row"][data-state="ok"]').getByRole('link').first().click();
      await titled('Group snapshot').waitFor();
      await details
        .getByTestId('timeline-step')
        .filter({ hasText: 'CreateVolumeGroupSnapshot' })
        .first()
        .waitFor();
      await page.goBack();
      await page
        .locator('[data-testid="snapshot-row"][data-state="ok"]')
        .first()
        .getByRole('link')
        .first()
        .click();
      await titled('Snapshot').waitFor();

      await page.goto(`${origin}/#/nodes`);
      await page.getByTestId('nodes-table').getByRole('link', { name: 'node-2' }).click();
      await titled('Node').waitFor();
      await details
        .getByRole('link', { name: /hostpath\.csi\.berth/ })
        .first()
        .click();
      await titled('Driver').waitFor();
      await make(csiStorageCapacities, {
        metadata: { name: 'zone-a', namespace: 'kube-system' },
        storageClassName: 'hostpath',
        capacity: '40Gi',
        nodeTopology: { matchLabels: { 'topology.hostpath.csi.berth/zone': 'zone-a' } },
      });
      // It changes no row: the details are asked for again when the page is opened again.
      await page.reload();
      await details.locator('svg text', { hasText: 'hostpath: 40 GiB left' }).waitFor();
      await page.goto(`${origin}/#/drivers`);
      await page.getByTestId('classes-table').getByRole('link', { name: 'hostpath-delayed' }).click();
      await titled('Class').waitFor();

      // A volume's picture names the node that has it.
      await must(['apply', '-f', join(EXAMPLES, 'claim-and-pod.yaml')], up);
      await page.goto(`${origin}/#/claim/default/data`);
      await details.getByTestId('segment').filter({ hasText: 'attached, 1 pod' }).waitFor();

      await page.keyboard.press('/');
      await page.getByTestId('volumes-table').waitFor();
      await page.keyboard.type('data');
      assert.equal(await page.getByTestId('filter').inputValue(), 'data', 'the key goes to the filter');
    },
  );

  await t.test('the page fits 1280 and 390 pixels, with the stages', async () => {
    await make(persistentVolumeClaims, claim('orphan', 'no-such-class'));
    const row = page.locator('[data-testid="volume-row"][data-name="default/data"]');
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await page.goto(`${origin}/#/volumes`);
      const stages = row.getByRole('img', { name: 'claimed, provisioned, bound, placed, attached, mounted' });
      await stages.waitFor();
      await page.getByTestId('trouble').waitFor();
      const box = await stages.boundingBox();
      assert.ok(box && box.x + box.width <= width, `the stages are in sight at ${width}`);
      for (const list of ['volumes', 'pods', 'nodes', 'drivers', 'snapshots', 'activity']) {
        await page.goto(`${origin}/#/${list}`);
        await page.locator('nav [aria-current]').waitFor();
        const wide = await page.evaluate(
          '[document.documentElement, ...document.querySelectorAll(".scroll")]' +
            '.filter((element) => element.scrollWidth > element.clientWidth).length',
        );
        assert.equal(wide, 0, `nothing of ${list} is beside a screen of ${width}`);
      }
    }
  });

  await t.test('[SEC-3] what others wrote is shown as text, never as HTML', async () => {
    const html = '<img src=x onerror="document.title=1">';
    await make(storageClasses, { metadata: { name: 'absent' }, provisioner: 'absent.csi.test' });
    const { metadata } = await make(persistentVolumeClaims, claim('odd', 'absent'));
    await make(events, {
      metadata: { name: 'html', namespace: 'default' },
      involvedObject: {
        kind: 'PersistentVolumeClaim',
        namespace: 'default',
        name: 'odd',
        uid: metadata.uid,
      },
      type: 'Warning',
      reason: 'ProvisioningFailed',
      message: `${html} <script>document.title=2</script>`,
    });
    await page.getByTestId('trouble').getByText(html).first().waitFor();
    await page.goto(`${origin}/#/claim/default/odd`);
    await page.getByTestId('event').getByText(html).waitFor();
    assert.equal(await page.locator('img, #page script').count(), 0);
  });

  await t.test(
    '[WHY-2] everything that fails for one reason is one entry, which unfolds to what to do',
    async () => {
      await make(persistentVolumeClaims, claim('other', 'no-such-class'));
      await make(pods, {
        metadata: { name: 'lonely', namespace: 'default' },
        spec: {
          containers: [{ name: 'main', image: 'busybox' }],
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'orphan' } }],
        },
      });
      await page.setViewportSize({ width: 1280, height: 844 });
      await page.goto(`${origin}/#/volumes`);
      const trouble = page.getByTestId('trouble').filter({ hasText: 'no-such-class' });
      await trouble.getByText('3 objects').waitFor();
      assert.equal(await trouble.count(), 1);
      assert.equal(await trouble.getByText('create StorageClass no-such-class').isVisible(), false);
      await trouble.getByText('3 objects').click();
      await trouble.getByText('create StorageClass no-such-class').waitFor();
      await trouble.getByRole('link', { name: 'Pod default/lonely' }).click();
      await page.getByTestId('details').waitFor();

      await page.goBack();
      await page.getByTestId('troubles-summary').click();
      await trouble.waitFor({ state: 'hidden' });
      await page.reload();
      await page.getByTestId('troubles-summary').getByText('2 stuck').waitFor();
      assert.equal(await trouble.isVisible(), false, 'it stays folded');
    },
  );

  await t.test('an action is done with the token of the viewer, or refused with its reason', async () => {
    for (const name of ['nobody', 'operator']) {
      await make(serviceAccounts, { metadata: { name, namespace: 'default' } });
    }
    await make(roles, {
      metadata: { name: 'operator', namespace: 'default' },
      rules: [{ apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['patch'] }],
    });
    await make(roleBindings, {
      metadata: { name: 'operator', namespace: 'default' },
      subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: 'default' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'operator' },
    });
    const tokenOf = async (name: string): Promise<string> => {
      const { status } = await kube.createSubresource<{ status: { token: string } }>(
        serviceAccounts as unknown as Resource,
        { namespace: 'default', name },
        'token',
        { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
      );
      return status.token;
    };
    await page.goto(`${origin}/#/claim/default/odd`);
    const actions = page.getByTestId('actions');
    const result = page.getByTestId('action-result');
    const retry = actions.getByRole('button', { name: 'Retry now' });
    assert.equal(await retry.isDisabled(), true, 'without a token there is nothing to act with');
    await page.getByTestId('token').fill(await tokenOf('nobody'));
    await retry.click();
    await result.getByText(/Not done: .*cannot patch/).waitFor();
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !/403/.test(text)));
    await page.getByTestId('token').fill(await tokenOf('operator'));
    await retry.click();
    await result.getByText('Done: a retry of PersistentVolumeClaim odd').waitFor();
  });

  assert.deepEqual(complaints, []);
});
