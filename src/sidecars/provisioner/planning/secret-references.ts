// Which Secret each CSI call of a volume uses: references in the parameters of a StorageClass, with templates that are
// filled from the claim. Both spellings of the keys are accepted, and may be mixed. Pure: no Secret is read here.

import type { SecretReference } from '../../../api/kinds.ts';
import { secretFrom } from '../../../api/secret-template.ts';
import { RESERVED_PARAMETER_PREFIX } from '../../../api/well-known.ts';
import { permanentProblem } from './claim-problem.ts';

/** Prefixes of the parameters by kind of call: first the current spelling, then the deprecated one. */
const PREFIXES = {
  provisioner: ['provisioner', 'csiProvisioner'],
  'controller-publish': ['controller-publish', 'csiControllerPublish'],
  'node-stage': ['node-stage', 'csiNodeStage'],
  'node-publish': ['node-publish', 'csiNodePublish'],
  'controller-expand': ['controller-expand'],
  'node-expand': ['node-expand'],
  'controller-modify': ['controller-modify'],
} as const satisfies Record<string, readonly [string, string?]>;

export type SecretKind = keyof typeof PREFIXES;
export const SECRET_KINDS = Object.keys(PREFIXES) as readonly SecretKind[];

function keysFor([today, old]: readonly [string, string?]) {
  const prefix = `${RESERVED_PARAMETER_PREFIX}${today}${today && '-'}secret`;
  return {
    nameKeys: [`${prefix}-name`, ...(old ? [`${old}SecretName`] : [])],
    namespaceKeys: [`${prefix}-namespace`, ...(old ? [`${old}SecretNamespace`] : [])],
  };
}

/** The default for every kind of call without a reference of its own. */
const DEFAULT_KEYS = keysFor(['']);
const KEYS = new Map(SECRET_KINDS.map((kind) => [kind, [keysFor(PREFIXES[kind]), DEFAULT_KEYS]]));

/** Every parameter that is a reference to a Secret, in either spelling. */
export const SECRET_PARAMETERS: ReadonlySet<string> = new Set(
  [...KEYS.values()].flat().flatMap(({ nameKeys, namespaceKeys }) => [...nameKeys, ...namespaceKeys]),
);

export interface TemplateValues {
  volumeName: string;
  claimName: string;
  claimNamespace: string;
  /** Absent when the claim is gone and only its name is known. */
  claimAnnotations?: Readonly<Record<string, string>> | undefined;
}

/**
 * Undefined when the class names no Secret for this kind of call. Throws a ClaimProblem when the reference is invalid.
 */
export function secretReference(
  kind: SecretKind,
  parameters: Readonly<Record<string, string>>,
  { volumeName, claimName, claimNamespace, claimAnnotations = {} }: TemplateValues,
): SecretReference | undefined {
  const annotations = Object.entries(claimAnnotations);
  for (const keys of KEYS.get(kind) ?? []) {
    const answer = secretFrom({
      where: 'storage class',
      parameters,
      ...keys,
      forNamespace: { 'pv.name': volumeName, 'pvc.namespace': claimNamespace },
      // Users control the claim's name and annotations: usable in the Secret's name, never in its namespace.
      forName: {
        'pvc.name': claimName,
        ...Object.fromEntries(annotations.map(([key, value]) => [`pvc.annotations['${key}']`, value])),
      },
    });
    if ('problem' in answer) throw permanentProblem(answer.problem);
    if (answer.secret) return answer.secret;
  }
  return undefined;
}
