// What `berth why` says in each situation, through the real components. The answers are printed into docs/troubleshooting.md:
//
//   BERTH_UPDATE_DOCS=1 npm test -- test/why

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { KubeObject } from '../../src/api/object.ts';
import type { Link } from '../../src/why/chain.ts';
import { explain } from '../../src/why/explain.ts';
import { type Facts, readFacts } from '../../src/why/facts.ts';
import { findTroubles } from '../../src/why/find-troubles.ts';
import { lacking } from '../capabilities.ts';
import { type BrokenCluster, startBrokenCluster } from './broken-cluster.ts';
import { claimSituations } from './claim-situations.ts';
import { otherSituations } from './other-situations.ts';
import { podSituations } from './pod-situations.ts';
import { type Asked, DOWN, DRIVERS, type Situation, stageOf } from './stage.ts';

const DOCS = new URL('../../docs/troubleshooting.md', import.meta.url);
const MARKS = [
  '<!-- situations: printed by test/why/situations.test.ts -->',
  '<!-- end of situations -->',
] as const;
const UPDATE = 'BERTH_UPDATE_DOCS=1 npm test -- test/why';
/** Repetitions of an event are counted in the API after 10 s. */
const WITHIN_MS = 40_000;
const LOOK_MS = 250;

const situations = [...claimSituations, ...podSituations, ...otherSituations];

const skip = lacking('root');

test('[WHY-1] the first sentence is the cause that was reported, and what to do follows', {
  skip,
}, async (t) => {
  const world = await startBrokenCluster(t, DRIVERS);
  await world.stopDriver(DOWN);
  const told = new Map<Situation, Told>();
  for (const isLast of [undefined, true]) {
    const made = situations.filter((situation) => situation.isLast === isLast);
    await Promise.all(
      made.map(async (situation) => {
        const stage = await stageOf(world, situations.indexOf(situation) + 1);
        told.set(situation, await toldIn(world, situation, await situation.make(stage)));
      }),
    );
    if (isLast === undefined) await checkTroubles(t, world);
  }
  for (const situation of situations) {
    await t.test(situation.name, () => {
      const { state, sentence, todo } = told.get(situation) as Told;
      assert.ok(sentence.includes(situation.says), sentence);
      assert.equal(state, situation.state ?? 'stuck', sentence);
      assert.ok(todo.length > 0, `nothing to do: ${sentence}`);
    });
  }
  await t.test('the table in docs/troubleshooting.md is up to date', async () => {
    const rows = situations.map((situation) => rowOf(situation, told.get(situation) as Told));
    const table = ['| when | `berth why` says | do |', '|---|---|---|', ...rows].join('\n');
    const text = await readFile(DOCS, 'utf8');
    const [start, end] = MARKS.map((mark) => text.indexOf(mark));
    assert.ok(start !== undefined && end !== undefined && start >= 0 && end > start, 'the marks are gone');
    const updated = `${text.slice(0, start)}${MARKS[0]}\n${table}\n${text.slice(end)}`;
    if (process.env.BERTH_UPDATE_DOCS) await writeFile(DOCS, updated);
    else assert.equal(text, updated, `docs/troubleshooting.md is out of date; ${UPDATE} prints it`);
  });
});

interface Told {
  readonly state: Link['state'];
  readonly sentence: string;
  readonly todo: readonly string[];
}

/** Asked until it says what is expected, or for long enough that it will not. */
async function toldIn(world: BrokenCluster, situation: Situation, asked: Asked): Promise<Told> {
  const untilMs = Date.now() + WITHIN_MS;
  for (;;) {
    const facts = await factsOf(world);
    const links = explain(facts, asked.kind, find(facts, asked));
    const culprit = links.find(({ state }) => state !== 'ok') ?? links.at(-1);
    const told = {
      state: culprit?.state ?? 'ok',
      sentence: plain(`${culprit?.subject}: ${culprit?.says}`),
      todo: (culprit?.todo ?? []).map(plain),
    };
    const isExpected = told.sentence.includes(situation.says) && told.state === (situation.state ?? 'stuck');
    if (isExpected || Date.now() > untilMs) return told;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

const factsOf = (world: BrokenCluster): Promise<Facts> =>
  readFacts(world.kube, { nowMs: Date.now(), namespace: undefined, signal: AbortSignal.timeout(20_000) });

function find(facts: Facts, { kind, namespace, name }: Asked): KubeObject {
  const { pods, claims, volumes, snapshots = [], groups = [], nodes, drivers, classes } = facts;
  const among: readonly KubeObject[] = {
    pod: pods,
    claim: claims,
    volume: volumes,
    snapshot: snapshots,
    group: groups,
    node: nodes,
    driver: drivers,
    class: classes,
  }[kind];
  const found = among.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  assert.ok(found, `${kind} ${name} is gone`);
  return found;
}

/** Without what differs from run to run. */
function plain(text: string): string {
  return text
    .replaceAll(/\bns-\d+\b/g, 'default')
    .replaceAll(/\bfast-\d+\b/g, 'fast')
    .replaceAll(/\/\S*\/\d-node-\d/g, '/csi/csi.sock')
    .replaceAll(/pvc-[0-9a-f-]{36}/g, 'pvc-0b5e…')
    .replaceAll(/ for \d+s\b/g, '');
}

function rowOf({ name }: Situation, { state, sentence, todo }: Told): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
  return `| ${cell(name)} | ${state === 'stuck' ? '' : '*waits:* '}${cell(sentence)} | ${todo.map(cell).join('<br>')} |`;
}

/** [WHY-2] */
async function checkTroubles(t: TestContext, world: BrokenCluster): Promise<void> {
  const troubles = findTroubles(await factsOf(world));
  await t.test('[WHY-2] without a name: one entry a cause, the worst first', () => {
    const states = troubles.map(({ state }) => state);
    assert.deepEqual(states, states.toSorted(), 'stuck before waits');
    const affected = troubles.flatMap(({ affects }) => affects);
    assert.equal(new Set(affected).size, affected.length, 'an object has one entry');
    const entryOf = (name: string) =>
      troubles.find(({ affects }) => affects.some((each) => each.endsWith(name)));
    const numberOf = (name: string) => situations.findIndex((situation) => situation.name === name) + 1;
    // A pod and its claim are one, and so are a claim and its class.
    const topology = numberOf('no node is where the class allows volumes');
    assert.deepEqual(entryOf(` ns-${topology}/web`)?.affects, [
      `Pod ns-${topology}/web`,
      `PersistentVolumeClaim ns-${topology}/data`,
      `StorageClass fast-${topology}`,
    ]);
    for (const name of ['VolumeSnapshot', 'StorageClass', 'PersistentVolume']) {
      assert.ok(
        affected.some((each) => each.startsWith(`${name} `)),
        name,
      );
    }
    const healthy = ['Node node-1', 'CSIDriver main.csi.test'];
    assert.deepEqual(
      healthy.filter((each) => entryOf(each)?.affects[0] === each),
      [],
    );
  });
}
