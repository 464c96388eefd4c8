// docs/api says what the code exports.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stalePages } from './generate-api-docs.ts';

test('docs/api is up to date; if not, run npm run api-docs', () => {
  const { pages, stale } = stalePages();
  assert.deepEqual(stale, []);
  // And finds what is exported from elsewhere, by `export *`, and by a package.
  assert.match(
    pages.get('docs/api/testing.md') ?? '',
    /async function startCluster\(options: ClusterOptions/,
  );
  assert.match(pages.get('docs/api/api.md') ?? '', /### parseQuantity\n/);
  assert.match(pages.get('docs/api/csi.md') ?? '', /Every message, enumeration and service of `csi_pb\.ts`/);
});
