// The page of `berth up` in a real browser: what happens is seen, what is stuck is said, and a restart is survived.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { claim, must, openBrowser, openPage, pageOf, skip } from './page-process.ts';
import { BERTH, EXAMPLES, startUp, temporaryDirectory, undoAfter } from './up-process.ts';

test('a volume lives on the page, and one that is stuck says why', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), ['--dashboard-port=0']);
  const { page, complaints } = await openPage(t, await pageOf(up));
  assert.match(
    (await page.getByTestId('command').textContent()) ?? '',
    /apply -f - <<'END'/,
    'a first volume to copy',
  );
  assert.doesNotMatch(page.url(), /token/, 'the key is not left in the address');
  await page.getByTestId('connection').and(page.locator('[data-state="live"]')).waitFor();

  await must(['apply', '-f', join(EXAMPLES, 'claim-and-pod.yaml')], up);
  const row = page.locator('[data-testid="volume-row"][data-name="default/data"]');
  await row.and(page.locator('[data-state="ok"]')).getByText('hostpath.csi.berth').waitFor();
  await row.getByText('web').first().waitFor();

  await must(['apply', '-f', '-'], up, claim('orphan', 'no-such-class'));
  const troubles = page.getByTestId('troubles');
  await troubles.getByText('StorageClass no-such-class does not exist').waitFor();
  await page.waitForFunction("document.title.includes('1 stuck')");
  await troubles.getByTestId('trouble').getByRole('link').first().click();
  const details = page.getByTestId('details');
  await details.locator('[data-testid="chain-link"][data-state="stuck"]').waitFor();
  assert.match(page.url(), /#\/claim\/default\/orphan$/);
  await page.goBack();
  await troubles.getByTestId('trouble').waitFor();
  await must(['delete', 'pvc', 'orphan'], up);
  await troubles.getByTestId('trouble').waitFor({ state: 'detached' });
  await page.waitForFunction("!document.title.includes('stuck')");

  await page.goto(`${new URL(page.url()).origin}/#/pod/default/web`);
  await details.getByText('Running on node').first().waitFor();
  await details.getByTestId('timeline-step').filter({ hasText: 'NodePublishVolume' }).first().waitFor();
  assert.equal(await details.locator('[data-testid="chain-link"]:not([data-state="ok"])').count(), 0);

  await page.goto(`${new URL(page.url()).origin}/#/nodes`);
  await page.getByTestId('nodes').getByText('node-2').first().waitFor();
  await page.goto(`${new URL(page.url()).origin}/#/drivers`);
  await page.getByTestId('drivers-table').getByText('hostpath.csi.berth').first().waitFor();
  await page.goto(`${new URL(page.url()).origin}/#/activity`);
  await page.getByTestId('step').filter({ hasText: 'NodePublishVolume' }).first().waitFor();

  await page.goto(`${new URL(page.url()).origin}/#/volumes`);
  await page.getByTestId('filter').fill('nothing-is-called-so');
  await row.waitFor({ state: 'detached' });
  await page.getByTestId('filter').fill('dat');
  await row.waitFor();
  await must(['delete', 'pod', 'web'], up);
  await must(['delete', 'pvc', 'data'], up);
  await row.waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('the page finds its cluster again after a restart', { skip }, async (t) => {
  const directory = join(await temporaryDirectory(t), 'd');
  const first = await startUp(t, directory, ['--dashboard-port=0']);
  const url = await pageOf(first);
  const { page } = await openPage(t, url);
  await must(['apply', '-f', '-'], first, claim('kept', 'hostpath'));
  const row = page.locator('[data-testid="volume-row"][data-name="default/kept"]');
  await row.and(page.locator('[data-state="ok"]')).waitFor();
  assert.equal(await first.stop(), 0);
  await page.locator('[data-testid="connection"][data-state="lost"]').waitFor();
  assert.equal(await row.count(), 1, 'what was known is kept');
  const second = await startUp(t, directory, [`--dashboard-port=${new URL(url).port}`]);
  assert.equal(await pageOf(second), url);
  await page.locator('[data-testid="connection"][data-state="live"]').waitFor();
  // The charts have calls of the first run, which no page and no process has seen that is still there.
  await page.goto(`${new URL(page.url()).origin}/#/activity`);
  await page.reload();
  await page.locator('.legend').getByText('CreateVolume').first().waitFor();
  await page.getByTestId('range').selectOption('all');
  await page.locator('.legend').getByText('CreateVolume').first().waitFor();
  await page.goto(`${new URL(page.url()).origin}/#/volumes`);
  await must(['delete', 'pvc', 'kept'], second);
  await row.waitFor({ state: 'detached' });
});

test('whoever comes without the link is told where it is', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), ['--dashboard-port=0']);
  const { origin } = new URL(await pageOf(up));
  const page = await (await openBrowser(t)).newPage();
  const answer = await page.goto(origin);
  assert.equal(answer?.status(), 401);
  assert.match(await page.content(), /Open the link that was printed/);
});

test('`berth dashboard` shows another cluster, as an account that may only read', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), ['--without', 'dashboard']);
  assert.doesNotMatch(up.output().stdout, /^ {2}page /m);
  await must(['apply', '-f', '-'], up, claim('seen', 'hostpath'));
  const kubeconfig = join(up.dataDir, 'kubeconfigs', 'dashboard.kubeconfig');
  const command = spawn(process.execPath, [BERTH, 'dashboard', '--kubeconfig', kubeconfig, '--port=0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => command.once('exit', resolve));
  undoAfter(t, () => command.kill('SIGKILL'));
  const url = await readyLine(command.stdout);
  const { page, complaints } = await openPage(t, url);
  await page.locator('[data-testid="volume-row"][data-name="default/seen"][data-state="ok"]').waitFor();
  await page.goto(`${new URL(page.url()).origin}/#/activity`);
  await page.getByText('recorded only').first().waitFor();
  assert.deepEqual(complaints, []);
  command.kill('SIGTERM');
  assert.equal(await ended, 0, 'it shuts down with open connections');
});

async function readyLine(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const url = /^ready (\S+)$/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('it ended before it was ready');
}
