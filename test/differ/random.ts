// Random sequences of requests about one object, drawn from a seed: creation, every way to change it, reads, deletion.
// A sequence has fresh names, so that it can be repeated alone, and any of its steps can be left out.

import { type SeededRandom, seededRandom } from '../../src/runtime/random.ts';
import { type Case, changeStep, partsOf } from './directed.ts';
import { type Edit, edited, type JsonObject, type Step } from './exchange.ts';
import { editsOf, type Subject } from './subjects/subject.ts';

const LENGTH = 10;
const MANAGERS = ['a', 'b', 'kubectl', 'kubectl-client-side-apply'];

class Draw {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.#random.int(choices.length)] as T;
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** Between one and `most`. */
  some<T>(choices: readonly T[], most: number): T[] {
    return Array.from({ length: 1 + this.#random.int(most) }, () => this.of(choices));
  }
}

/** The sequence of this number. `name` only has to be fresh. */
export function randomCase(
  subjects: readonly Subject[],
  { seed, number, name }: { seed: number; number: number; name: string },
): Case {
  const draw = new Draw(seededRandom(seed).fork(`sequence ${number}`));
  const subject = draw.of(subjects.filter((each) => !each.heavy));
  const parts = partsOf(subject, name);
  const changes = changesOf(subject);
  const steps: Step[] = [firstStep(draw, parts, changes)];
  while (steps.length < LENGTH) steps.push(nextStep(draw, subject, parts, changes));
  return { id: `${subject.apiVersion} ${subject.kind}: --seed ${seed} --only ${number}`, steps };
}

interface Changes {
  readonly all: readonly Edit[];
  /** Only those that the tables spell out. */
  readonly likely: readonly Edit[];
}

function changesOf(subject: Subject): Changes {
  const all = editsOf(subject);
  return { all, likely: all.filter((edit) => 'value' in edit && !isOfNoType(edit)) };
}

const isOfNoType = ({ value }: Edit): boolean =>
  value === null ||
  value === '' ||
  value === -1 ||
  /^x{300}$/.test(String(value)) ||
  JSON.stringify(value) === '{}';

function pick(draw: Draw, { all, likely }: Changes): Edit {
  return draw.of(draw.chance(0.75) ? likely : all);
}

type Parts = ReturnType<typeof partsOf>;

function firstStep(draw: Draw, parts: Parts, changes: Changes): Step {
  if (draw.chance(0.25)) return applyStep(draw, parts, changes, true);
  const manager = draw.chance(0.5) ? `?fieldManager=${draw.of(MANAGERS)}` : '';
  const edits = draw.chance(0.5) ? [pick(draw, changes)] : [];
  return {
    method: 'POST',
    path: `${parts.collection}${manager}`,
    body: { json: edited(parts.object, edits) },
  };
}

function nextStep(draw: Draw, subject: Subject, parts: Parts, changes: Changes): Step {
  const query = draw.chance(0.15)
    ? '?dryRun=All'
    : draw.chance(0.2)
      ? `?fieldManager=${draw.of(MANAGERS)}`
      : '';
  switch (
    draw.of([
      'put',
      'put',
      'merge',
      'merge',
      'strategic',
      'json',
      'apply',
      'apply',
      'apply',
      'read',
      'create',
      'delete',
    ])
  ) {
    case 'put': {
      const edits = draw.some([0], 2).map(() => pick(draw, changes));
      const sub = draw.chance(0.2) && subject.subresources?.includes('status') ? '/status' : '';
      return { method: 'PUT', path: `${parts.item}${sub}${query}`, body: { current: edits } };
    }
    case 'merge':
      return changeStep(subject, parts, 'merge', pick(draw, changes), query);
    case 'strategic':
      return changeStep(subject, parts, 'strategic', pick(draw, changes), query);
    case 'json':
      return changeStep(subject, parts, 'json', pick(draw, changes), query);
    case 'apply':
      return applyStep(draw, parts, changes, draw.chance(0.4));
    case 'create':
      return firstStep(draw, parts, changes);
    case 'delete':
      return {
        method: 'DELETE',
        path: `${parts.item}${draw.of(['', '?dryRun=All', '?propagationPolicy=Foreground', '?gracePeriodSeconds=0'])}`,
      };
    default:
      return {
        method: 'GET',
        path: draw.of([parts.item, `${parts.collection}?labelSelector=${parts.selector}`]),
      };
  }
}

/** The whole sample or only its identity, with a few changes. */
function applyStep(draw: Draw, parts: Parts, changes: Changes, whole: boolean): Step {
  const { object, item, name } = parts;
  const identity: JsonObject = {
    apiVersion: object.apiVersion as string,
    kind: object.kind as string,
    metadata: { name },
  };
  const edits = draw.chance(0.8) ? draw.some([0], 3).map(() => pick(draw, changes)) : [];
  const force = draw.chance(0.4) ? '&force=true' : '';
  const dry = draw.chance(0.1) ? '&dryRun=All' : '';
  return {
    method: 'PATCH',
    path: `${item}?fieldManager=${draw.of(MANAGERS)}${force}${dry}`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: { json: edited(whole ? object : identity, edits) },
  };
}
