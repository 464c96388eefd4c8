// Selects the trace entries of one claim or pod: those about it, its volumes, their attachments, and the CSI calls for them. Other
// pods that share a volume are left out, unless the claim itself is the subject. Pure.

import { podUidToken, type Token, type TraceEntry } from './trace-entry.ts';

export interface Subject {
  kind: 'pod' | 'claim';
  token: Token;
}

/** Follows links from the subject outwards; remembers what it found, so that it can judge entries one by one. */
export class Relations {
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
        else if (pointsHere && this.#subject.kind === 'claim') {
          this.#add([entry.self, ...entry.links.filter((link) => link.startsWith('pod-uid '))]);
        }
        break;
      case 'PersistentVolume':
      case 'VolumeAttachment':
        if (isKnown || pointsHere) this.#add([entry.self, ...entry.links]);
        break;
      case 'PersistentVolumeClaim':
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
    const ofPod = entry.kind === 'csi' && this.#subject.kind === 'claim' && podUidToken('');
    return entry.links.some((link) => this.#tokens.has(link) && !(ofPod && link.startsWith(ofPod)));
  }

  #add(tokens: readonly Token[]): void {
    for (const token of tokens) {
      this.#tokens.add(token);
      if (token.startsWith(podUidToken(''))) this.#podUids.add(token.slice(podUidToken('').length));
    }
  }
}

export function relatedEntries(entries: readonly TraceEntry[], relations: Relations): TraceEntry[] {
  // Links run both ways and in any order of time: until nothing new is found.
  for (let found = true; found; ) {
    found = false;
    for (const entry of entries) if (relations.learn(entry)) found = true;
  }
  return entries.filter((entry) => relations.has(entry));
}
