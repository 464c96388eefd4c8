// Selects the trace entries of one object: those about it, its volumes, their attachments, and the CSI calls for them. Other
// pods that share a volume are left out, unless the claim itself is the subject. Pure.

import { PresentObjects } from './present-objects.ts';
import {
  type ApiEntry,
  type EarlierObject,
  podUidToken,
  type Token,
  type TraceEntry,
  type TraceLine,
} from './trace-entry.ts';

export const SUBJECT_KINDS = ['pod', 'claim', 'volume', 'snapshot', 'group'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

export interface Subject {
  kind: SubjectKind;
  token: Token;
}

/** Follows links from the subject outwards; remembers what it found, so that it can judge entries one by one. */
class Relations {
  readonly #subject: Subject;
  readonly #tokens: Set<Token>;
  readonly #podUids = new Set<string>();

  constructor(subject: Subject) {
    this.#subject = subject;
    this.#tokens = new Set([subject.token]);
  }

  /** Learns from the entry; true when it found something new, so that entries before it may count after all. */
  learn(entry: TraceEntry): boolean {
    if (entry.kind !== 'api') return false;
    const known = this.#tokens.size;
    const isKnown = this.#tokens.has(entry.self);
    const pointsHere = entry.links.some((link) => this.#tokens.has(link));
    switch (entry.object.kind) {
      case 'Pod':
        // A pod of the claim is of interest; what else that pod uses is not.
        if (isKnown && this.#subject.kind === 'pod') this.#add(entry.links);
        else if (pointsHere && (this.#subject.kind === 'claim' || this.#subject.kind === 'volume')) {
          this.#add([entry.self, ...entry.links.filter((link) => link.startsWith('pod-uid '))]);
        }
        break;
      case 'PersistentVolume':
      case 'VolumeAttachment':
      case 'VolumeSnapshotContent':
      case 'VolumeGroupSnapshotContent':
        if (isKnown || pointsHere) this.#add([entry.self, ...entry.links]);
        break;
      case 'VolumeSnapshot':
        // The members of a group name it.
        if (isKnown || (pointsHere && this.#subject.kind === 'group'))
          this.#add([entry.self, ...entry.links]);
        break;
      case 'PersistentVolumeClaim':
      case 'VolumeGroupSnapshot':
        if (isKnown) this.#add(entry.links);
        break;
      default:
        break;
    }
    return this.#tokens.size > known;
  }

  has(entry: TraceEntry): boolean {
    if (entry.kind === 'api' && this.#tokens.has(entry.self)) return true;
    if (entry.kind === 'api' && entry.object.kind !== 'Event') return false;
    if (entry.kind === 'csi' && entry.podUid !== undefined && !this.#podUids.has(entry.podUid)) return false;
    // That a call was for a pod of the claim does not make it one for the claim's volume.
    const ofPod = entry.kind === 'csi' && this.#subject.kind !== 'pod' && podUidToken('');
    return entry.links.some((link) => this.#tokens.has(link) && !(ofPod && link.startsWith(ofPod)));
  }

  #add(tokens: readonly Token[]): void {
    for (const token of tokens) {
      this.#tokens.add(token);
      if (token.startsWith(podUidToken(''))) this.#podUids.add(token.slice(podUidToken('').length));
    }
  }
}

/** The trace of one subject: first from what is kept, then entry by entry. */
export class SubjectTrace {
  readonly #subject: Subject;
  readonly #present = new PresentObjects();
  #relations: Relations;
  /** The last entry about the subject itself. */
  #last: ApiEntry | undefined;

  constructor(subject: Subject) {
    this.#subject = subject;
    this.#relations = new Relations(subject);
  }

  /** Entries of the present objects. Where an earlier one of the subject's name ended there is a line for it. */
  kept(entries: readonly TraceEntry[]): TraceLine[] {
    for (const entry of entries) this.#present.note(entry);
    const present = entries.filter((entry) => !this.#present.isPast(entry));
    // Links run both ways and in any order of time: until nothing new is found.
    for (let found = true; found; ) {
      found = false;
      for (const entry of present) if (this.#relations.learn(entry)) found = true;
    }
    const related = present.filter((entry) => this.#relations.has(entry));
    this.#last = related.findLast((entry) => this.#isSelf(entry));
    const { token } = this.#subject;
    const past = entries.filter(
      (entry) =>
        this.#present.isPast(entry) &&
        ((entry.kind === 'api' && entry.self === token) || entry.links.includes(token)),
    );
    const ended = past.findLast((entry) => this.#isSelf(entry));
    return ended === undefined ? related : [earlier(ended, past.length), ...related];
  }

  /** The lines that a new entry adds. */
  next(entry: TraceEntry): TraceLine[] {
    const before = this.#present.uidOf(this.#subject.token);
    this.#present.note(entry);
    const isReplaced = before !== undefined && before !== this.#present.uidOf(this.#subject.token);
    const lines: TraceLine[] = [];
    if (isReplaced && this.#last) {
      lines.push(earlier(this.#last, 0));
      this.#relations = new Relations(this.#subject);
    }
    if (this.#present.isPast(entry)) return lines;
    this.#relations.learn(entry);
    if (!this.#relations.has(entry)) return lines;
    if (this.#isSelf(entry)) this.#last = entry;
    return [...lines, entry];
  }

  #isSelf(entry: TraceEntry): entry is ApiEntry {
    return entry.kind === 'api' && entry.self === this.#subject.token;
  }
}

const earlier = ({ atMs, object }: ApiEntry, entries: number): EarlierObject => ({
  kind: 'earlier',
  atMs,
  object,
  entries,
});
