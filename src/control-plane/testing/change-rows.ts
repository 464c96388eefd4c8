// Test support: which changes of an object matter to a controller, as a table. A field that is forgotten leaves an object
// unattended for ever; one too many costs a run at every heartbeat.

import assert from 'node:assert/strict';
import { test } from 'node:test';

export type Change = { metadata?: object; spec?: object; status?: object };

const changed = <T>(change: Change, base: Change): T =>
  ({
    metadata: { name: 'x', ...base.metadata, ...change.metadata },
    spec: { ...base.spec, ...change.spec },
    status: { ...base.status, ...change.status },
  }) as T;

/** `same` must tell `base` from each of `matters`, in both directions, and from none of `ignored`. */
export function changeRows<T>(
  kind: string,
  same: (before: T, after: T) => boolean,
  { base = {}, matters, ignored }: { base?: Change; matters: object; ignored: object },
): void {
  const each = (changes: object, expected: boolean) => {
    for (const [name, change] of Object.entries(changes) as [string, Change][]) {
      test(`${kind}: ${name} ${expected ? 'changes nothing' : 'matters'}`, () => {
        const [before, after] = [changed<T>({}, base), changed<T>(change, base)];
        assert.equal(same(before, after), expected);
        assert.equal(same(after, before), expected);
        assert.equal(same(after, changed<T>(change, base)), true, 'equal objects');
      });
    }
  };
  each(matters, false);
  each(ignored, true);
}
