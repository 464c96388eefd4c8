// Parses the subject of a command: `pod web`, or `pvc/data`. Pure.

import type { ExplainedKind } from '../../why/explain.ts';
import { UsageError } from '../command.ts';

/** As kubectl and people name them. */
const WORDS: Readonly<Record<ExplainedKind, readonly string[]>> = {
  pod: ['pod', 'pods', 'po'],
  claim: ['pvc', 'claim', 'persistentvolumeclaim', 'persistentvolumeclaims'],
  volume: ['pv', 'volume', 'persistentvolume', 'persistentvolumes'],
  snapshot: ['snapshot', 'volumesnapshot', 'volumesnapshots', 'vs'],
  group: ['group', 'volumegroupsnapshot', 'volumegroupsnapshots', 'vgs'],
  node: ['node', 'nodes', 'no'],
  driver: ['driver', 'csidriver', 'csidrivers'],
  class: ['class', 'storageclass', 'storageclasses', 'sc'],
};

/** Rejects kinds that are not in `allowed`. */
export function subjectOf<S extends ExplainedKind>(
  args: readonly string[],
  allowed: readonly S[],
): { kind: S; name: string } {
  const [word = '', name = ''] = args.length === 1 ? (args[0] ?? '').split('/') : args;
  const kind = allowed.find((each) => WORDS[each].includes(word.toLowerCase()));
  if (kind === undefined || name === '') {
    const expected = allowed.map((each) => `${WORDS[each][0]} NAME`);
    throw new UsageError(`expected ${expected.join(' or ')}, got ${args.join(' ')}`);
  }
  return { kind, name };
}

/** The kind that a word names, if any. */
export const kindOfWord = (word: string): ExplainedKind | undefined =>
  (Object.keys(WORDS) as ExplainedKind[]).find((kind) => WORDS[kind].includes(word.toLowerCase()));

/** The word to offer for each kind. */
export const SUBJECT_WORDS: string[] = Object.values(WORDS).flatMap(([first]) => first ?? []);
