// Tables of which change wakes which loops of a controller. See woken-loops.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Resource } from '../../api/object.ts';
import { type Change, wokenLoops } from '../../runtime/informer/testing/woken-loops.ts';
import type { Controller, DiscoveringPorts } from '../controller.ts';

export type WakeRow = [
  name: string,
  change: Change,
  woken: string[],
  /** What the caches hold before the controller starts. */
  cached?: (readonly [Resource, object])[],
];

export interface Parts {
  metadata?: object;
  spec?: object;
  status?: object;
}

/** Makes objects that share `common` and differ in what they are given. */
export const objectsLike =
  (name: string, common: Parts = {}) =>
  ({ metadata, spec, status }: Parts = {}) => ({
    metadata: { name, uid: `uid-${name}`, ...common.metadata, ...metadata },
    spec: { ...common.spec, ...spec },
    ...((common.status ?? status) && { status: { ...common.status, ...status } }),
  });

export const deleting = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

export function testWakes(
  name: string,
  create: (ports: DiscoveringPorts) => Controller,
  rows: readonly WakeRow[],
): void {
  for (const [what, change, woken, cached = []] of rows)
    test(`${name}: ${what} wakes ${woken.join(', ') || 'nothing'}`, async (t) => {
      const found = await wokenLoops(t, (ports) => create(ports as unknown as DiscoveringPorts), {
        change,
        cached,
      });
      assert.deepEqual(found.toSorted(), woken.toSorted());
    });
}
