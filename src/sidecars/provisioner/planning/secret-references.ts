// Which Secret each CSI call of a volume uses: references in the parameters of a StorageClass, with templates that are
// filled from the claim. Both spellings of the keys are known; today's wins. Pure: no Secret is read here.

import { fillTemplate } from '../../../api/fill-template.ts';
import type { SecretReference } from '../../../api/kinds.ts';
import { isDns1123Label, isDns1123Subdomain } from '../../../api/names.ts';
import { RESERVED_PARAMETER_PREFIX } from '../../../api/well-known.ts';
import { ClaimProblem } from './claim-problem.ts';

export const SECRET_KINDS = [
  'provisioner',
  'controller-publish',
  'node-stage',
  'node-publish',
  'controller-expand',
  'node-expand',
  'controller-modify',
] as const;
export type SecretKind = (typeof SECRET_KINDS)[number];

/** The spelling of the first drivers; later kinds never had one. */
const OLD_KEYS: Partial<Record<SecretKind, string>> = {
  provisioner: 'csiProvisionerSecret',
  'controller-publish': 'csiControllerPublishSecret',
  'node-stage': 'csiNodeStageSecret',
  'node-publish': 'csiNodePublishSecret',
};

interface Keys {
  name: string;
  namespace: string;
}

function keysOf(kind: SecretKind): Keys[] {
  const today = keysWithPrefix(`${RESERVED_PARAMETER_PREFIX}${kind}-secret`);
  const old = OLD_KEYS[kind];
  return old === undefined ? [today] : [today, { name: `${old}Name`, namespace: `${old}Namespace` }];
}

const keysWithPrefix = (prefix: string): Keys => ({
  name: `${prefix}-name`,
  namespace: `${prefix}-namespace`,
});

/** For every kind that has no reference of its own. */
const DEFAULT_KEYS = keysWithPrefix(`${RESERVED_PARAMETER_PREFIX}secret`);

/** In the order in which they count. */
const KEYS: Readonly<Record<SecretKind, readonly Keys[]>> = Object.fromEntries(
  SECRET_KINDS.map((kind) => [kind, [...keysOf(kind), DEFAULT_KEYS]]),
) as Record<SecretKind, Keys[]>;

/** Every parameter that is a reference to a Secret, in either spelling. */
export const SECRET_PARAMETERS: ReadonlySet<string> = new Set(
  [...SECRET_KINDS.flatMap(keysOf), DEFAULT_KEYS].flatMap(({ name, namespace }) => [name, namespace]),
);

export interface TemplateValues {
  volumeName: string;
  claimName: string;
  claimNamespace: string;
  /** Absent when the claim is gone and only its name is known. */
  claimAnnotations?: Readonly<Record<string, string>> | undefined;
}

/** Undefined when the class names no Secret for this kind of call. Throws a ClaimProblem when it does so badly. */
export function secretReference(
  kind: SecretKind,
  parameters: Readonly<Record<string, string>>,
  values: TemplateValues,
): SecretReference | undefined {
  let template: Keys | undefined;
  for (const keys of KEYS[kind]) {
    template = templateAt(keys, parameters);
    if (template !== undefined) break;
  }
  if (template === undefined) return undefined;
  const { volumeName, claimName, claimNamespace, claimAnnotations = {} } = values;
  // A user chooses the claim's name and annotations, so these never choose a namespace.
  const forNamespace = new Map([
    ['pv.name', volumeName],
    ['pvc.namespace', claimNamespace],
  ]);
  const forName = new Map([
    ...forNamespace,
    ['pvc.name', claimName],
    ...Object.entries(claimAnnotations).map(([key, value]): [string, string] => [
      `pvc.annotations['${key}']`,
      value,
    ]),
  ]);
  return {
    name: filled(template.name, forName, isDns1123Subdomain, 'secret name'),
    namespace: filled(template.namespace, forNamespace, isDns1123Label, 'namespace'),
  };
}

function templateAt(keys: Keys, parameters: Readonly<Record<string, string>>): Keys | undefined {
  const name = parameters[keys.name];
  const namespace = parameters[keys.namespace];
  if (name === undefined && namespace === undefined) return undefined;
  if (!name || !namespace) {
    const missing = name ? keys.namespace : keys.name;
    throw new ClaimProblem(
      `the storage class gives only half of a secret reference: parameter ${missing} is missing or empty`,
      { slow: true },
    );
  }
  return { name, namespace };
}

function filled(
  template: string,
  values: ReadonlyMap<string, string>,
  isValid: (text: string) => boolean,
  what: string,
): string {
  const { text, unknown } = fillTemplate(template, values);
  if (unknown.length > 0) {
    throw new ClaimProblem(
      `the ${what} "${template}" in the storage class uses ${unknown.map((token) => `\${${token}}`).join(', ')}, ` +
        'which has no value here',
      { slow: true },
    );
  }
  if (!isValid(text)) {
    const became = text === template ? '' : ` becomes "${text}", which`;
    throw new ClaimProblem(`"${template}" in the storage class${became} is not a valid ${what}`, {
      slow: true,
    });
  }
  return text;
}
