// The page of `berth up` in a browser, for tests.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { lacking, programPath } from '../capabilities.ts';
import { berth, type UpProcess, undoAfter } from './up-process.ts';

const PATIENCE_MS = 20_000;
export const skip = lacking('root', 'chromium');

export async function openBrowser(t: TestContext): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: programPath('chromium') ?? '',
    // Its own sandbox needs an account that is not root's.
    args: ['--no-sandbox', '--disable-gpu'],
  });
  undoAfter(t, () => browser.close());
  return browser;
}

/** Keeps everything that the browser complains of: a violated policy, a script that throws, a file that is missing. */
export async function openPage(t: TestContext, url: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await (await openBrowser(t)).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // Whatever else starts a network interface on this machine aborts what a browser loads.
    if (message.text().includes('ERR_NETWORK_CHANGED')) return;
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.goto(url);
  // For the same reason the page may have come without one of its modules.
  const header = page.getByTestId('connection');
  for (let tries = 0; tries < 5 && (await header.count()) === 0; tries++) {
    await header.waitFor({ timeout: PATIENCE_MS / 5 }).catch(() => page.reload());
  }
  return { page, complaints };
}

/** The link that it printed. */
export async function pageOf(up: UpProcess): Promise<string> {
  for (;;) {
    const url = /^ {2}page +(\S+)$/m.exec(up.output().stdout)?.[1];
    if (url !== undefined) return url;
    await new Promise((resolve) => up.child.stdout?.once('data', resolve));
  }
}

export const claim = (name: string, storageClassName: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName,
    resources: { requests: { storage: '1Mi' } },
  },
});

export async function must(args: readonly string[], up: UpProcess, input?: object): Promise<void> {
  const options = { env: { KUBECONFIG: up.kubeconfig }, ...(input && { input: JSON.stringify(input) }) };
  const { code, stderr } = await berth(args, options);
  assert.equal(code, 0, stderr);
}
