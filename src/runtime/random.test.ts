import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { realRandom, seededRandom } from './random.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

for (const [name, random] of [
  ['realRandom', realRandom],
  ['seededRandom', seededRandom(1)],
] as const) {
  describe(name, () => {
    it('stays within its bounds and reaches all of them', () => {
      const seen = new Set<number>();
      for (let i = 0; i < 2000; i++) {
        const next = random.next();
        assert.ok(next >= 0 && next < 1);
        seen.add(random.int(7));
      }
      assert.deepEqual([...seen].sort(), [0, 1, 2, 3, 4, 5, 6]);
      assert.equal(random.int(1), 0);
    });

    it('gives version 4 UUIDs, all different', () => {
      const uuids = Array.from({ length: 1000 }, () => random.uuid());
      for (const uuid of uuids) assert.match(uuid, UUID_V4);
      assert.equal(new Set(uuids).size, uuids.length);
    });

    it('gives suffixes as Kubernetes does', () => {
      for (let i = 0; i < 100; i++) assert.match(random.suffix(5), /^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    });
  });
}

describe('seededRandom', () => {
  const draw = (seed: number | string) => {
    const random = seededRandom(seed);
    return [random.next(), random.int(1000), random.uuid(), random.suffix(8)];
  };

  it('repeats itself from a seed and differs between seeds', () => {
    assert.deepEqual(draw(42), draw(42));
    const firsts = new Set(Array.from({ length: 1000 }, (_, seed) => draw(seed)[0]));
    assert.equal(firsts.size, 1000);
  });

  it('forks streams that do not depend on what was drawn', () => {
    const fresh = seededRandom(7).fork('driver').uuid();
    const used = seededRandom(7);
    used.next();
    assert.equal(used.fork('driver').uuid(), fresh);
    assert.notEqual(used.fork('node').uuid(), fresh);
  });

  it('is even over its range', () => {
    const random = seededRandom('even');
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 100_000; i++) counts[random.int(10)] = (counts[random.int(10)] ?? 0) + 1;
    for (const count of counts) assert.ok(count > 9_000 && count < 11_000, `${counts}`);
  });
});
