// Reads a fault: `NodeStageVolume fail UNAVAILABLE 30%`, `crash provisioner after CreateVolume once`. Pure. What it does not
// understand is refused with the nearest word that it would.

import { csiServices } from '../csi/names/csi-methods.ts';
import { parseDuration } from '../runtime/flags/duration.ts';
import { nearestOf } from '../runtime/flags/parse-flags.ts';
import { allGrpcCodes, type GrpcCode } from '../wire/grpc/grpc-code.ts';
import { callMatches, type Fault, type FaultAction } from './fault.ts';

export class FaultError extends Error {
  override readonly name = 'FaultError';
}

const METHODS = csiServices.flatMap(({ methods }) => [...methods]);
export const CALLS: readonly string[] = METHODS.map(({ name }) => name);
const STREAMS: ReadonlySet<string> = new Set(
  METHODS.filter(({ methodKind }) => methodKind !== 'unary').map(({ name }) => name),
);
const CODES = allGrpcCodes.filter((code) => code !== 'OK') as Exclude<GrpcCode, 'OK'>[];
const ACTIONS = ['fail', 'delay', 'lose-request', 'lose-answer', 'duplicate'] as const;
/** The simulation's names of those that need no further word. */
const SYNONYMS: Readonly<Record<string, string>> = {
  'csi-lost-before': 'lose-request',
  'csi-lost-after': 'lose-answer',
  'csi-duplicated': 'duplicate',
  'csi-refused': 'fail',
  'csi-slow': 'delay',
};
const EXAMPLE = "as in 'CreateVolume fail UNAVAILABLE 30%' or 'crash provisioner after CreateVolume once'";
/** A longer delay would outlive every deadline. */
const MAX_DELAY_MS = 3_600_000;

export function parseFault(text: string): Fault {
  const words = text.trim().split(/\s+/);
  if (words[0] === '') throw new FaultError(`a fault is empty; write one ${EXAMPLE}`);
  return words[0] === 'crash' ? parseCrash(words) : parseCallFault(words);
}

function parseCrash(words: readonly string[]): Fault {
  const [, component, when, call, ...rest] = words;
  if (component === undefined || call === undefined || (when !== 'before' && when !== 'after')) {
    throw new FaultError(
      `"${words.join(' ')}" does not say which component crashes when; write crash COMPONENT before|after CALL`,
    );
  }
  const fault = when === 'before' ? 'csi-crash-before' : 'csi-crash-after';
  return { call: parseCall(call), action: { fault, component }, ...parseSelectors(rest) };
}

function parseCallFault(words: readonly string[]): Fault {
  const [first = '', given, ...rest] = words;
  const call = parseCall(first);
  if (given === undefined) {
    throw new FaultError(`"${first}" does not say what happens to the call: ${ACTIONS.join(', ')}`);
  }
  if (given === 'csi-past-deadline') return { call, action: { fault: given }, ...parseSelectors(rest) };
  const word = Object.hasOwn(SYNONYMS, given) ? SYNONYMS[given] : given;
  const { action, rest: selectors } = parseAction(word as string, rest);
  if (action.fault === 'csi-duplicated' && STREAMS.has(call)) {
    throw new FaultError(`${call} is answered by a stream, which cannot be duplicated`);
  }
  return { call, action, ...parseSelectors(selectors) };
}

/** Throws unless there is such a call. */
function parseCall(text: string): string {
  if (CALLS.some((each) => callMatches(text, each))) return text;
  throw new FaultError(`there is no CSI call ${JSON.stringify(text)}; ${hint(text, CALLS)}`);
}

function parseAction(
  word: string,
  rest: readonly string[],
): { action: FaultAction; rest: readonly string[] } {
  const [next, ...others] = rest;
  switch (word) {
    case 'fail':
      return { action: { fault: 'csi-refused', code: parseCode(next) }, rest: others };
    case 'delay':
      return { action: parseDelay(next), rest: others };
    case 'duplicate':
      return { action: { fault: 'csi-duplicated' }, rest };
    case 'lose-request':
    case 'lose-answer': {
      const fault = word === 'lose-request' ? 'csi-lost-before' : 'csi-lost-after';
      const isSilent = next === 'silently';
      return { action: { fault, isSilent }, rest: isSilent ? others : rest };
    }
    default:
      throw new FaultError(
        `${JSON.stringify(word)} is not something that happens to a call; ${hint(word, ACTIONS)}`,
      );
  }
}

function parseCode(text: string | undefined): Exclude<GrpcCode, 'OK'> {
  if (text === undefined) throw new FaultError(`fail needs a gRPC code: ${CODES.join(', ')}`);
  const found = CODES.find((code) => code === text.toUpperCase());
  if (found !== undefined) return found;
  if (text.toUpperCase() === 'OK') throw new FaultError('OK is not a failure; give another gRPC code');
  throw new FaultError(`${JSON.stringify(text)} is not a gRPC code; ${hint(text.toUpperCase(), CODES)}`);
}

function parseDelay(text: string | undefined): FaultAction {
  if (text === 'past-deadline') return { fault: 'csi-past-deadline' };
  const delayMs = text === undefined ? undefined : parseDuration(text);
  if (delayMs === undefined || delayMs <= 0 || delayMs > MAX_DELAY_MS) {
    const given = text === undefined ? 'nothing' : JSON.stringify(text);
    throw new FaultError(
      `delay needs a time of up to 1h as in 5s or 300ms, or past-deadline, and got ${given}`,
    );
  }
  return { fault: 'csi-slow', delayMs };
}

type Selectors = Pick<Fault, 'driver' | 'volume' | 'node' | 'percent' | 'times'>;

function parseSelectors(words: readonly string[]): Selectors {
  const found: { -readonly [K in keyof Selectors]?: Selectors[K] } = {};
  for (const word of words) {
    const selector = parseSelector(word);
    const [key] = Object.keys(selector) as (keyof Selectors)[];
    if (key !== undefined && key in found) throw new FaultError(`${JSON.stringify(word)} is a second ${key}`);
    Object.assign(found, selector);
  }
  return found;
}

const SELECTORS = ['once', 'driver=', 'volume=', 'node='] as const;

function parseSelector(word: string): Selectors {
  const [, key, value] = /^(driver|volume|node)=(.+)$/.exec(word) ?? [];
  if (key !== undefined) return { [key]: value };
  if (word === 'once') return { times: 1 };
  const times = Number(/^(\d+)x$/.exec(word)?.[1] ?? Number.NaN);
  if (Number.isSafeInteger(times) && times > 0) return { times };
  const percent = Number(/^(\d+(?:\.\d+)?)%$/.exec(word)?.[1] ?? Number.NaN);
  if (percent > 0 && percent <= 100) return { percent };
  const known = 'once, 3x, 30%, driver=NAME, volume=ID, node=NAME';
  const nearest = nearestOf(word, SELECTORS);
  throw new FaultError(
    `${JSON.stringify(word)} does not select calls; ${nearest === undefined ? `these do: ${known}` : `did you mean ${nearest}?`}`,
  );
}

function hint(text: string, candidates: readonly string[]): string {
  const exact = candidates.find((each) => each.toLowerCase() === text.toLowerCase());
  const nearest = exact ?? nearestOf(text, candidates) ?? candidates.find((each) => each.endsWith(text));
  return nearest === undefined ? `these are known: ${candidates.join(', ')}` : `did you mean ${nearest}?`;
}
