// The views of the page in a real browser, on one cluster: causes, details, widths, and text of others.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { claim, must, openPage, pageOf, skip } from './page-process.ts';
import { berth, EXAMPLES, startUp, temporaryDirectory, type UpProcess } from './up-process.ts';

test('the views of the page', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), ['--dashboard-port=0']);
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
      await details.getByTestId('segment').first().waitFor();
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
    await must(['apply', '-f', '-'], up, claim('orphan', 'no-such-class'));
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
    await must(
      ['apply', '-f', '-'],
      up,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'html', namespace: 'default' },
        involvedObject: {
          kind: 'PersistentVolumeClaim',
          namespace: 'default',
          name: 'odd',
          uid: await uidOf(up),
        },
        type: 'Warning',
        reason: 'ProvisioningFailed',
        message: `${html} <script>document.title=2</script>`,
      }),
    );
    await page.getByTestId('trouble').getByText(html).first().waitFor();
    await page.goto(`${origin}/#/claim/default/odd`);
    await page.getByTestId('event').getByText(html).waitFor();
    assert.equal(await page.locator('img, #page script').count(), 0);
  });

  await t.test(
    '[WHY-2] everything that fails for one reason is one entry, which unfolds to what to do',
    async () => {
      await must(['apply', '-f', '-'], up, claim('other', 'no-such-class'));
      const pod = manifest('Pod', 'lonely', {
        containers: [{ name: 'main', image: 'busybox' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'orphan' } }],
      });
      await must(['apply', '-f', '-'], up, pod);
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

  assert.deepEqual(complaints, []);
});

const manifest = (kind: string, name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'v1', kind, metadata: { name }, spec });

/** Of a claim `odd` that waits for its provisioner. */
async function uidOf(up: UpProcess): Promise<string> {
  await must(
    ['apply', '-f', '-'],
    up,
    JSON.stringify({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'absent' },
      provisioner: 'absent.csi.test',
    }),
  );
  await must(['apply', '-f', '-'], up, claim('odd', 'absent'));
  const { stdout } = await berth(['get', 'pvc', 'odd', '-o', 'json'], { env: { KUBECONFIG: up.kubeconfig } });
  return (JSON.parse(stdout) as { metadata: { uid: string } }).metadata.uid;
}
