// `npm run differ -- [--seed N] [--steps M] [--only K] [--filter TEXT] [--show COUNT] [--record FILE]`: the same
// requests to the embedded API server and to the kube-apiserver of BERTH_PEERS, and where they answer differently.
// Directed cases are counted by status code and by whole answer, random steps by whole answer; normalise.ts says what is
// not compared. `--only` repeats one random sequence, `--filter` selects directed cases by their text, `--steps 0` leaves
// random ones out. `--record` only writes the answers that test/apiserver/recorded-answers.test.ts replays (recorded.ts).

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { missingPeers } from '../capabilities.ts';
import { type Comparison, compare, inTurns, type Pair, shrink } from './compare.ts';
import { directedCases } from './directed.ts';
import { Side } from './exchange.ts';
import { randomCase } from './random.ts';
import { digestOf, kindOf, type Recorded, recordedCases, recordedSequence } from './recorded.ts';
import { startPair } from './servers.ts';
import { subjects } from './subjects/index.ts';

/** Watches take a second each, without using the processor. */
const CONCURRENCY = 12;
/** Random sequences that are recorded. */
const SEQUENCES = 300;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '2000' },
    only: { type: 'string' },
    filter: { type: 'string', default: '' },
    show: { type: 'string', default: '20' },
    out: { type: 'string' },
    record: { type: 'string' },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${((100 * part) / whole).toFixed(2)} %`;

async function runDirected(pair: Pair): Promise<Comparison[]> {
  const cases = directedCases(subjects).filter(({ id }) => id.includes(values.filter));
  const results = await inTurns(cases, CONCURRENCY, (each) => compare(pair, each, 'code'));
  const sameCode = results.filter(({ ours, theirs }) => ours.code === theirs.code).length;
  const same = results.filter((each) => each.differences.length === 0).length;
  print(
    `directed: ${results.length} cases, same status ${percent(sameCode, results.length)}, same answer ${percent(same, results.length)}`,
  );
  const differing = results.filter((each) => each.differences.length > 0);
  return differing.sort(
    (a, b) => Number(a.ours.code === a.theirs.code) - Number(b.ours.code === b.theirs.code),
  );
}

async function runRandom(pair: Pair, seed: number, wanted: number): Promise<Comparison[]> {
  const found: Comparison[] = [];
  const chosen = values.only === undefined ? undefined : Number(values.only);
  let steps = 0;
  let number = 0;
  let names = 0;
  const fresh = (): string => `r${++names}`;
  const worker = async (): Promise<void> => {
    while (steps < wanted && (chosen === undefined || number === 0)) {
      const own = chosen ?? ++number;
      if (chosen !== undefined) number++;
      const make = (): ReturnType<typeof randomCase> =>
        randomCase(subjects, { seed, number: own, name: fresh() });
      const result = await compare(pair, make(), 'any');
      steps += result.taken;
      if (result.differences.length === 0) continue;
      const remake = (keep: (index: number) => boolean) => {
        const made = make();
        return { ...made, steps: made.steps.filter((_, index) => keep(index)) };
      };
      found.push(await shrink(pair, result, remake));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  print(
    `random: seed ${seed}, ${steps} steps in ${number} sequences, equal ${percent(steps - found.length, steps)}`,
  );
  return found;
}

async function record(pair: Pair, file: string): Promise<void> {
  const version = await new Side(pair.theirs).take({ method: 'GET', path: '/version' });
  const answers: Record<string, string> = {};
  for (const subject of subjects) {
    const results = await inTurns(recordedCases(subject), CONCURRENCY, (each) => compare(pair, each, 'code'));
    answers[kindOf(subject)] = results
      .map(({ differences, theirs }) => (differences.length === 0 ? digestOf(theirs) : '-'))
      .join(' ');
  }
  const sequences = await inTurns(
    Array.from({ length: SEQUENCES }, (_, index) => index + 1),
    CONCURRENCY,
    async (number) => {
      const sides = [new Side(pair.ours), new Side(pair.theirs)] as const;
      const digests: string[] = [];
      for (const step of recordedSequence(number).steps) {
        const [ours, theirs] = await Promise.all([sides[0].take(step), sides[1].take(step)]);
        if (digestOf(ours) !== digestOf(theirs)) break;
        digests.push(digestOf(theirs));
      }
      return digests.join(' ');
    },
  );
  const source = `kube-apiserver ${(version.body as { gitVersion?: string }).gitVersion}: npm run differ -- --record`;
  await writeFile(
    file,
    `${JSON.stringify({ source, answers, sequences } satisfies Recorded, undefined, 2)}\n`,
  );
}

function describe(found: Comparison): string {
  const { ours, theirs } = found;
  const steps = found.case.steps
    .slice(0, found.taken)
    .map((step) => `    ${JSON.stringify(step)}`.slice(0, 1500));
  const texts = [ours, theirs].map(({ code, body }) => {
    const message = (body as { message?: string } | null)?.message;
    return message === undefined ? `${code}` : `${code} ${message.slice(0, 400)}`;
  });
  return [
    `✖ ${found.case.id}`,
    ...steps,
    `  berth:          ${texts[0]}`,
    `  kube-apiserver: ${texts[1]}`,
    ...found.differences.slice(0, 8).map((each) => `  ${each}`),
  ].join('\n');
}

async function main(): Promise<void> {
  const missing = missingPeers('etcd', 'kube-apiserver');
  if (missing !== false) {
    print(`skipped: ${missing}; the comparison needs etcd and kube-apiserver there`);
    return;
  }
  const directory = await mkdtemp(join(tmpdir(), 'berth-differ-'));
  const pair = await startPair(directory);
  try {
    if (values.record !== undefined) {
      await record(pair, values.record);
      return;
    }
    const directed = values.only === undefined ? await runDirected(pair) : [];
    const random = await runRandom(pair, Number(values.seed), Number(values.steps));
    const all = [...directed, ...random].map(describe);
    for (const text of all.slice(0, Number(values.show))) print(text);
    if (all.length > Number(values.show))
      print(`… and ${all.length - Number(values.show)} more differences (--show)`);
    if (values.out !== undefined) await writeFile(values.out, all.join('\n'));
  } finally {
    await pair.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

await main();
