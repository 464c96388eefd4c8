// What the identifiers of a recording are called by the driver that it is played to: volumes, snapshots and nodes get their IDs
// from the driver, names get a prefix so that nothing that exists is taken for what was recorded, paths move below a directory.

import { join } from 'node:path';
import type { DescMessage, DescMethod, Message } from '../../wire/protobuf/descriptor.ts';
import { type FieldValue, setFields } from '../../wire/protobuf/set-fields.ts';
import { type IdKind, identifiersIn, isPath, kindOf, replacer, rewritten } from './identifiers.ts';

type Context = Readonly<Record<string, string>>;
type Fields = Message & {
  name?: string;
  volumeId?: string;
  volumeContext?: Context;
  publishContext?: Context;
};

const EPHEMERAL = 'csi.storage.k8s.io/ephemeral';
/** A shorter identifier is not looked for inside of other texts. */
const SHORTEST = 3;
/** By the specification, in bytes. */
const LONGEST_NAME = 128;

export class LiveIds {
  readonly #namePrefix: string;
  readonly #directory: string;
  /** `kind recorded` to live. */
  readonly #live = new Map<string, string>();
  readonly #values = new Set<string>();
  /** By recorded volume: what its creation answered. */
  readonly #contexts = new Map<string, { recorded: Context; live: Context }>();
  readonly #publishContexts = new Map<string, Context>();
  /** By recorded volume: the recorded name. */
  readonly #names = new Map<string, string>();

  constructor(options: { namePrefix: string; directory: string }) {
    this.#namePrefix = options.namePrefix;
    this.#directory = options.directory;
  }

  /** Undefined for what the driver was not told or did not tell. */
  get(kind: IdKind, recorded: string): string | undefined {
    if (kind === 'name') return this.#named(recorded);
    return this.#live.get(`${kind} ${recorded}`);
  }

  /** Identifiers of objects that were there before the recording, or whose creation went another way this time. */
  strangers(method: DescMethod, request: Message): string[] {
    this.#adoptEphemeral(request);
    return identifiersIn(method.input, request)
      .filter(({ kind, value }) => kind !== 'node' && this.get(kind, value) === undefined)
      .map(({ kind, value }) => `${kind} ${value}`);
  }

  /** The recorded request, as the driver has to be asked now. */
  requestOf(method: DescMethod, request: Message): Message {
    const pairs = this.#pairs([[method.input, request]]);
    const changed = this.#rewrite(method.input, request, pairs) as Fields;
    const { volumeId = '', volumeContext, publishContext } = request as Fields;
    const known = this.#contexts.get(volumeId);
    if (known && volumeContext) {
      const own = Object.entries(changed.volumeContext ?? {}).filter(
        ([key]) => !Object.hasOwn(known.recorded, key),
      );
      changed.volumeContext = { ...known.live, ...Object.fromEntries(own) };
    }
    const published = this.#publishContexts.get(volumeId);
    // The answer of ControllerPublishVolume has the field, too, but no volume.
    if (published && publishContext) changed.publishContext = published;
    return changed;
  }

  /** The recorded answer, with the identifiers of now. */
  answerOf(method: DescMethod, recorded: { request: Message; response: Message }): Message {
    const pairs = this.#pairs([
      [method.input, recorded.request],
      [method.output, recorded.response],
    ]);
    return this.#rewrite(method.output, recorded.response, pairs);
  }

  /** The first answer decides what something is called; a later one that calls it differently is a difference. */
  learn(method: DescMethod, recorded: { request: Message; response: Message }, live: Message): void {
    this.#learn(method.output, recorded.response, live);
    const { volumeId = '', name } = recorded.request as Fields;
    const { publishContext } = live as Fields;
    if (method.name === 'ControllerPublishVolume' && publishContext)
      this.#publishContexts.set(volumeId, publishContext);
    if (name !== undefined) {
      for (const { kind, value } of identifiersIn(method.output, recorded.response)) {
        if (kind !== 'node') this.#names.set(value, name);
      }
    }
  }

  /** A name that would become too long loses its beginning: the end is what tells it from others. */
  #named(recorded: string): string {
    const named = `${this.#namePrefix}${recorded}`;
    const isTooLong = Buffer.byteLength(named) > LONGEST_NAME && Buffer.byteLength(recorded) <= LONGEST_NAME;
    return isTooLong ? `${this.#namePrefix}${recorded.slice(this.#namePrefix.length)}` : named;
  }

  isLive(id: string): boolean {
    return this.#values.has(id);
  }

  #learn(schema: DescMessage, recorded: Message, live: Message): void {
    if (schema.typeName === 'csi.v1.Volume') {
      const { volumeId = '', volumeContext = {} } = recorded as Fields;
      const now = (live as Fields).volumeContext ?? {};
      if (!this.#contexts.has(volumeId)) this.#contexts.set(volumeId, { recorded: volumeContext, live: now });
    }
    const values = new Map(setFields(schema, live).map(({ field, value }) => [field.localName, value]));
    for (const { field, value } of setFields(schema, recorded)) {
      const now = values.get(field.localName);
      const kind = kindOf(schema, field);
      if (now === undefined) continue;
      if (kind && !field.isRepeated) this.#set(kind, value as string, now as string);
      else if (field.kind === 'message' && field.message) this.#learnMessages({ field, value }, now);
    }
  }

  #learnMessages({ field, value }: FieldValue, now: unknown): void {
    const schema = field.message as DescMessage;
    if (!field.isRepeated) this.#learn(schema, value as Message, now as Message);
    else if (field.name === 'snapshots') {
      // Members of a group, in any order: by the volume that each is of.
      for (const member of value as { sourceVolumeId?: string }[]) {
        const source = this.get('volume', member.sourceVolumeId ?? '');
        const same = (now as { sourceVolumeId?: string }[]).find(
          ({ sourceVolumeId }) => sourceVolumeId === source,
        );
        if (same) this.#learn(schema, member as unknown as Message, same as unknown as Message);
      }
    }
  }

  #set(kind: IdKind, recorded: string, live: string): void {
    const key = `${kind} ${recorded}`;
    // A token is for the next page of one listing only.
    if (kind !== 'token' && this.#live.has(key)) return;
    this.#live.set(key, live);
    if (kind !== 'token') this.#values.add(live);
  }

  /** Of an inline volume the caller chooses the ID. */
  #adoptEphemeral(request: Message): void {
    const { volumeId, volumeContext } = request as Fields;
    if (volumeId && volumeContext?.[EPHEMERAL] === 'true')
      this.#set('volume', volumeId, `${this.#namePrefix}${volumeId}`);
  }

  #rewrite(schema: DescMessage, message: Message, pairs: ReadonlyMap<string, string>): Message {
    const replace = replacer(pairs);
    return rewritten(schema, message, (text, place) => {
      if (isPath(place.field)) return join(this.#directory, text);
      const kind = kindOf(place.schema, place.field);
      if (kind) return this.get(kind, text) ?? text;
      return replace(text);
    });
  }

  /** What is replaced inside of other texts: the identifiers of these messages. */
  #pairs(messages: readonly (readonly [DescMessage, Message])[]): Map<string, string> {
    const pairs = new Map<string, string>();
    for (const [schema, message] of messages) {
      for (const { kind, value } of identifiersIn(schema, message)) {
        const name = this.#names.get(value);
        if (name !== undefined) pairs.set(name, this.#named(name));
        const live = this.get(kind, value);
        if (live !== undefined && live !== value && value.length >= SHORTEST) pairs.set(value, live);
      }
    }
    return pairs;
  }
}
