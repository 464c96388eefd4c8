import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pods, volumeAttachments } from '../../api/kinds.ts';
import { attachmentName, uniqueVolumeName } from '../../api/volumes.ts';
import { seededRandom } from '../../runtime/random.ts';
import { unreliable } from '../testing/unreliable.ts';
import { attachDetachWorld, DRIVER } from './testing/attach-detach-world.ts';

const NODES = ['n1', 'n2', 'n3'];
const SINGLE = ['rwo-1', 'rwo-2'];
const SHARED = ['rwx-1'];
/** What a node does: it mounts what is attached for its pods, says so first, and unmounts when they are gone. */
function createNodes(world: Awaited<ReturnType<typeof attachDetachWorld>>) {
  const mounted = new Map<string, Set<string>>(NODES.map((name) => [name, new Set()]));
  const report = (nodeName: string) =>
    world.nodeStatus(nodeName, {
      volumesInUse: [...(mounted.get(nodeName) ?? [])].map((name) => uniqueVolumeName(DRIVER, name)),
    });
  return {
    mounted,
    async turn(nodeName: string): Promise<void> {
      const { items } = await world.make(world.kube.list(pods));
      const wanted = new Set(
        items
          .filter(({ spec }) => spec.nodeName === nodeName)
          .flatMap(({ spec }) => (spec.volumes ?? []).map(({ name }) => name)),
      );
      const has = mounted.get(nodeName) ?? new Set();
      for (const name of [...has]) if (!wanted.has(name)) has.delete(name);
      const ready = (await world.readNode(nodeName)).status?.volumesAttached ?? [];
      for (const name of wanted) {
        if (has.has(name) || !ready.some((each) => each.name === uniqueVolumeName(DRIVER, name))) continue;
        has.add(name);
        await report(nodeName);
        // It was said that the volume is in use; only if it is still attached now may it be mounted.
        const { status } = await world.readNode(nodeName);
        const isStill = status?.volumesAttached?.some((each) => each.name === uniqueVolumeName(DRIVER, name));
        if (!isStill) has.delete(name);
      }
      await report(nodeName);
    },
  };
}

for (let seed = 1; seed <= 12; seed++) {
  test(`[ATT-10] lost calls and responses, restarts: no volume on two nodes, none detached while mounted, everything converges (seed ${seed})`, async (t) => {
    const random = seededRandom(seed);
    const net = unreliable(random);
    const w = await attachDetachWorld(t, { faults: net.faults });
    for (const name of NODES) await w.node(name);
    for (const name of SINGLE) await w.volume(name);
    for (const name of SHARED) await w.volume(name, { modes: ['ReadWriteMany'] });
    const cluster = createNodes(w);
    let controller = await w.startController();
    const alive = new Map<string, { nodeName: string; volume: string }>();
    const pick = <T>(items: readonly T[]): T => items[random.int(items.length)] as T;

    const check = () => {
      for (const name of SINGLE) {
        const holders = w.attacher.published.get(name) ?? new Set();
        assert(holders.size <= 1, `${name} is on ${[...holders].join(', ')}`);
      }
      for (const [nodeName, names] of cluster.mounted) {
        for (const name of names) {
          assert(
            w.attacher.published.get(name)?.has(nodeName),
            `${name} was taken from ${nodeName} while mounted`,
          );
        }
      }
    };

    for (let step = 0; step < 40; step++) {
      const what = random.int(10);
      if (what < 4) {
        const volume = pick([...SINGLE, ...SHARED]);
        const pod = { nodeName: pick(NODES), volume };
        alive.set(`p${step}`, pod);
        await w.pod(`p${step}`, pod.nodeName, [volume]);
      } else if (what < 7 && alive.size > 0) {
        const name = pick([...alive.keys()]);
        alive.delete(name);
        await w.removePod(name);
      } else if (what === 7) w.attacher.attach(pick(['ok', 'silent', { error: 'no' }] as const));
      else if (what === 8) w.attacher.detach(pick(['ok', 'silent', { error: 'no' }] as const));
      else {
        await controller.stop();
        controller = await w.startController();
      }
      await w.clock.advance(random.int(3000));
      check();
      await cluster.turn(pick(NODES));
      check();
    }

    net.stop();
    w.attacher.attach('ok');
    w.attacher.detach('ok');
    // A volume for one node that pods on several want goes to one of them: let only the first of each go on.
    const taken = new Map<string, string>();
    for (const [name, { nodeName, volume }] of alive) {
      if (!SINGLE.includes(volume) || !taken.has(volume) || taken.get(volume) === nodeName)
        taken.set(volume, nodeName);
      else {
        alive.delete(name);
        await w.removePod(name);
      }
    }
    for (let turn = 0; turn < 5; turn++) {
      for (const name of NODES) await cluster.turn(name);
      await w.clock.advance(150_000);
      check();
    }
    const expected = new Set(
      [...alive.values()].map(({ nodeName, volume }) =>
        attachmentName({ driver: DRIVER, volumeHandle: volume, nodeName }),
      ),
    );
    const { items } = await w.make(w.kube.list(volumeAttachments));
    assert.deepEqual(new Set(items.map(({ metadata }) => metadata.name)), expected);
    assert(items.every(({ status }) => status?.attached));
  });
}
