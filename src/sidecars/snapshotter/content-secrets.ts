// Which Secret each call about a content uses. Pure: throws a SnapshotProblem for an invalid reference in the class.

import type { SecretReference } from '../../api/kinds.ts';
import type { Metadata } from '../../api/object.ts';
import type { SecretAnswer } from '../../api/secret-template.ts';
import { SnapshotProblem } from './snapshot-problem.ts';
import type { ClassOfContent } from './snapshot-request.ts';

/** The reference that the snapshot controller wrote on the content when it created it. */
export function annotatedSecret(
  { annotations = {} }: Metadata,
  keys: { name: string; namespace: string },
): SecretReference | undefined {
  const name = annotations[keys.name];
  const namespace = annotations[keys.namespace];
  // An incomplete reference is kept: the error when it is read says what is missing.
  return name === undefined && namespace === undefined
    ? undefined
    : { name: name ?? '', namespace: namespace ?? '' };
}

/** The reference that the content's class has, for calls that only read. */
export function classSecret(
  { kind, name, found }: ClassOfContent,
  resolve: (parameters: Readonly<Record<string, string>>) => SecretAnswer,
): SecretReference | undefined {
  if (name === undefined) return undefined;
  if (found === undefined) throw new SnapshotProblem(`${kind} "${name}" does not exist`);
  const answer = resolve(found.parameters ?? {});
  if ('problem' in answer) throw new SnapshotProblem(answer.problem);
  return answer.secret;
}
