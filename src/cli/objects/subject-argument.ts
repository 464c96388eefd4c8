// Parses the subject of a command: `pod web`, or `pvc/data`. Pure.

import type { Subject } from '../../why/explain.ts';
import { UsageError } from '../command.ts';

const WORDS: Readonly<Record<string, Subject>> = {
  pod: 'pod',
  pods: 'pod',
  po: 'pod',
  pvc: 'claim',
  claim: 'claim',
  persistentvolumeclaim: 'claim',
  persistentvolumeclaims: 'claim',
  pv: 'volume',
  persistentvolume: 'volume',
  persistentvolumes: 'volume',
};
const SHORT: Readonly<Record<Subject, string>> = { pod: 'pod', claim: 'pvc', volume: 'pv' };

/** Rejects kinds that are not in `allowed`. */
export function subjectOf<S extends Subject>(
  args: readonly string[],
  allowed: readonly S[],
): { kind: S; name: string } {
  const [word = '', name = ''] = args.length === 1 ? (args[0] ?? '').split('/') : args;
  const kind = allowed.find((each) => each === WORDS[word.toLowerCase()]);
  if (kind === undefined || name === '') {
    const expected = allowed.map((each) => `${SHORT[each]} NAME`);
    throw new UsageError(`expected ${expected.join(' or ')}, got ${args.join(' ')}`);
  }
  return { kind, name };
}
