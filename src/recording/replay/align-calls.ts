// Finds for a call that arrives now the recorded call that it corresponds to: by what it is about, never by its bytes or its
// place in the order. Names and nodes of now are paired with recorded ones; IDs of volumes and snapshots are the recorded ones,
// because the replay hands them out. Pure, apart from what it remembers.

import type { DescMethod, Message } from '../../wire/protobuf/descriptor.ts';
import { toJson } from '../../wire/protobuf/json.ts';
import type { RecordedCall } from '../read-recording.ts';
import { type IdKind, identifiersIn, isRead, kindOf, replacer, rewritten } from './identifiers.ts';

export interface AlignedCall {
  /** The answer of this recorded call is to be given; undefined: nothing like it was recorded. */
  readonly recorded: RecordedCall | undefined;
  /** All recorded calls of this kind were asked for before; the last is repeated. */
  readonly isRepeated: boolean;
  /** The request in the recording's names. */
  readonly request: Message;
}

/** A shorter identifier is not looked for inside of other texts. */
const SHORTEST = 3;

interface Lane {
  readonly calls: RecordedCall[];
  next: number;
}

export class CallAligner {
  /** Method and identifiers to the recorded calls about them, in order. */
  readonly #lanes = new Map<string, Lane>();
  /**
   * What may be paired with something of now, by kind and method: recorded value to the fields of its first request. In the order of
   * the recording.
   */
  readonly #free = new Map<string, Map<string, ReadonlySet<string>>>();
  /** `kind live` to recorded, and back. */
  readonly #recordedOf = new Map<string, string>();
  readonly #liveOf = new Map<string, string>();
  /** `kind ID` of what the driver named, and so the replay does: these are the same now as then. */
  readonly #handedOut: ReadonlySet<string>;
  /** `kind ID` to the recorded name under which it was made. */
  readonly #names = new Map<string, string>();
  readonly #asked = new Set<RecordedCall>();
  #left = 0;

  constructor(calls: readonly RecordedCall[]) {
    this.#handedOut = new Set(calls.flatMap(idsHandedOut));
    for (const call of calls) {
      const { method, request } = call;
      if (!method || !request || !call.answer) continue;
      const key = keyOf(method, request);
      const lane = this.#lanes.get(key) ?? { calls: [], next: 0 };
      lane.calls.push(call);
      this.#lanes.set(key, lane);
      if (!isRead(method)) this.#left += 1;
      const name = identifiersIn(method.input, request).find(({ kind }) => kind === 'name')?.value;
      if (name !== undefined) for (const id of idsHandedOut(call)) this.#names.set(id, name);
      for (const { kind, value } of identifiersIn(method.input, request)) {
        if (this.#handedOut.has(`${kind} ${value}`)) continue;
        const free = this.#freeOf(kind, method);
        if (!free.has(value)) free.set(value, fieldTexts(method, request));
      }
    }
  }

  /** Recorded calls that change something and were not asked for yet. */
  get left(): number {
    return this.#left;
  }

  take(method: DescMethod, request: Message): AlignedCall {
    this.#pair(method, request);
    const named = this.#inRecordedNames(method, request);
    const lane = this.#lanes.get(keyOf(method, named));
    if (lane === undefined) return { recorded: undefined, isRepeated: false, request: named };
    const isRepeated = lane.next >= lane.calls.length;
    const recorded = lane.calls[Math.min(lane.next, lane.calls.length - 1)];
    lane.next += 1;
    if (recorded && !isRepeated) {
      this.#asked.add(recorded);
      if (!isRead(method)) this.#left -= 1;
    }
    return { recorded, isRepeated, request: named };
  }

  recordedOf(kind: IdKind, live: string): string | undefined {
    return this.#recordedOf.get(`${kind} ${live}`);
  }

  liveOf(kind: IdKind, recorded: string): string | undefined {
    return this.#liveOf.get(`${kind} ${recorded}`);
  }

  /** Recorded calls that change something and were not asked for; `isReached`: another about the same object was. */
  unasked(): { call: RecordedCall; isReached: boolean }[] {
    const reached = new Set([...this.#asked].flatMap(objectsOf));
    return [...this.#lanes.values()]
      .flatMap(({ calls }) => calls)
      .filter((call) => call.method && !isRead(call.method) && !this.#asked.has(call))
      .map((call) => ({ call, isReached: objectsOf(call).some((object) => reached.has(object)) }));
  }

  #freeOf(kind: IdKind, method: DescMethod): Map<string, ReadonlySet<string>> {
    const key = `${kind} ${method.name}`;
    let free = this.#free.get(key);
    if (free === undefined) {
      free = new Map();
      this.#free.set(key, free);
    }
    return free;
  }

  /** Pairs what is new in this request with something of the recording that is not paired yet. */
  #pair(method: DescMethod, request: Message): void {
    for (const { kind, value } of identifiersIn(method.input, request)) {
      const key = `${kind} ${value}`;
      if (this.#recordedOf.has(key) || this.#handedOut.has(key)) continue;
      const free = this.#freeOf(kind, method);
      const chosen = free.has(value) ? value : likest(free, fieldTexts(method, request));
      if (chosen === undefined || this.#liveOf.has(`${kind} ${chosen}`)) continue;
      for (const [of, others] of this.#free) if (of.startsWith(`${kind} `)) others.delete(chosen);
      this.#recordedOf.set(key, chosen);
      this.#liveOf.set(`${kind} ${chosen}`, value);
    }
  }

  /** What stands for each other inside of other texts of a call. */
  textPairs(method: DescMethod, request: Message): (readonly [recorded: string, live: string])[] {
    const pairs = new Map<string, string>();
    for (const { kind, value } of identifiersIn(method.input, request)) {
      const recorded = this.recordedOf(kind, value) ?? value;
      pairs.set(recorded, value);
      const name = this.#names.get(`${kind} ${recorded}`);
      const live = name !== undefined && this.liveOf('name', name);
      if (live) pairs.set(name, live);
    }
    return [...pairs].filter(
      ([recorded, live]) => recorded !== live && Math.min(recorded.length, live.length) >= SHORTEST,
    );
  }

  #inRecordedNames(method: DescMethod, request: Message): Message {
    const replace = replacer(
      this.textPairs(method, request).map(([recorded, live]) => [live, recorded] as const),
    );
    return rewritten(method.input, request, (text, { schema, field }) => {
      const kind = kindOf(schema, field);
      if (kind) return this.recordedOf(kind, text) ?? text;
      return replace(text);
    });
  }
}

/** The one whose request differs least; the first of equals. */
function likest(
  free: ReadonlyMap<string, ReadonlySet<string>>,
  now: ReadonlySet<string>,
): string | undefined {
  let best: { value: string; differing: number } | undefined;
  for (const [value, then] of free) {
    let differing = 0;
    for (const text of now) if (!then.has(text)) differing += 1;
    for (const text of then) if (!now.has(text)) differing += 1;
    if (best === undefined || differing < best.differing) best = { value, differing };
    if (differing === 0) break;
  }
  return best?.value;
}

/** Tokens of pages are opaque, and part of what is asked for. */
function keyOf(method: DescMethod, request: Message): string {
  const ids = identifiersIn(method.input, request).map(({ kind, value }) => `${kind} ${value}`);
  return [method.name, ...ids].join('\n');
}

function idsHandedOut({ method, answer }: RecordedCall): string[] {
  if (!method || !answer?.response) return [];
  return identifiersIn(method.output, answer.response).map(({ kind, value }) => `${kind} ${value}`);
}

function objectsOf({ method, request }: RecordedCall): string[] {
  if (!method || !request) return [];
  return identifiersIn(method.input, request)
    .filter(({ kind }) => kind !== 'node' && kind !== 'token')
    .map(({ kind, value }) => `${kind} ${value}`);
}

/** The fields of a request that say what is asked for, as text. */
function fieldTexts(method: DescMethod, request: Message): Set<string> {
  const texts = new Set<string>();
  for (const [name, value] of Object.entries(toJson(method.input, request))) {
    if (name === 'name' || /(Id|Path|Context|secrets)$/.test(name)) continue;
    const parts =
      typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { '': value };
    for (const [key, part] of Object.entries(parts)) {
      if (!key.startsWith('csi.storage.k8s.io/')) texts.add(`${name} ${key} ${JSON.stringify(part)}`);
    }
  }
  return texts;
}
