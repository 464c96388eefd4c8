// Resolves resource arguments to kinds that the server serves: plural, singular, short name or kind, with or without
// group (`pvc`, `claims.example.com`, `PersistentVolume`).

import { apiVersionOf } from '../../api/object.ts';
import type { ServedResource } from '../../runtime/kube/kube.ts';
import { UsageError } from '../command.ts';

export function findResource(served: readonly ServedResource[], typed: string): ServedResource {
  const [word = '', ...rest] = typed.toLowerCase().split('.');
  const group = rest.join('.');
  const known = (candidate: ServedResource): boolean =>
    candidate.plural === word ||
    candidate.singular === word ||
    candidate.kind.toLowerCase() === word ||
    (candidate.shortNames ?? []).includes(word);
  const found = served.filter((candidate) => known(candidate) && (group === '' || candidate.group === group));
  // Events are in two groups; the core one is meant.
  const chosen = found.find((candidate) => candidate.group === '') ?? found[0];
  if (chosen) return chosen;
  throw new UsageError(`the server has no resource type "${typed}"; \`berth get api-resources\` lists them`);
}

/** The kind of a manifest. */
export function resourceOfManifest(
  served: readonly ServedResource[],
  manifest: { apiVersion: string; kind: string },
): ServedResource | undefined {
  return served.find(
    (candidate) => candidate.kind === manifest.kind && apiVersionOf(candidate) === manifest.apiVersion,
  );
}

export interface ObjectArgument {
  resource: ServedResource;
  /** Absent: all objects of the kind. */
  name: string | undefined;
}

/** `pods`, `pod web`, `pod a b`, `pod/web pvc/data`, `pods,pvc`. */
export function objectArguments(
  served: readonly ServedResource[],
  words: readonly string[],
): ObjectArgument[] {
  const [first, ...names] = words;
  if (first === undefined)
    throw new UsageError('which objects? Name a kind, for example `pods` or `pvc/data`');
  if (words.every((word) => word.includes('/'))) {
    return words.map((word) => {
      const slash = word.indexOf('/');
      return { resource: findResource(served, word.slice(0, slash)), name: word.slice(slash + 1) };
    });
  }
  if (first.includes('/')) {
    throw new UsageError(`arguments after ${first} must be KIND/NAME too, as in pvc/data`);
  }
  const resources = first.split(',').map((typed) => findResource(served, typed));
  if (names.length === 0) return resources.map((resource) => ({ resource, name: undefined }));
  return resources.flatMap((resource) => names.map((name) => ({ resource, name })));
}
