// A reference to a Secret in the parameters of a class: two templates, for its name and its namespace, each under one of
// the spellings that a parameter may have, filled from the objects at hand. Pure: no Secret is read here.

import { fillTemplate } from './fill-template.ts';
import type { SecretReference } from './kinds.ts';
import { isDns1123Label, isDns1123Subdomain } from './names.ts';
import { getOwn } from './own-property.ts';

export interface SecretTemplate {
  /** What holds the parameters, for messages. */
  where: 'storage class' | 'snapshot class';
  parameters: Readonly<Record<string, string>>;
  /** The spellings of the parameters for name and namespace, today's first: of several that are given, the first wins. */
  nameKeys: readonly string[];
  namespaceKeys: readonly string[];
  /** Tokens allowed in the namespace, and further ones allowed in the name: a user must never choose a namespace. */
  forNamespace: Readonly<Record<string, string>>;
  forName: Readonly<Record<string, string>>;
}

/** Undefined when the parameters name no secret; a problem, as text, when they are invalid. */
export type SecretAnswer = { secret: SecretReference | undefined } | { problem: string };

export function secretFrom(template: SecretTemplate): SecretAnswer {
  const { where, parameters, nameKeys, namespaceKeys, forName, forNamespace } = template;
  const nameKey = nameKeys.find((key) => getOwn(parameters, key) !== undefined);
  const namespaceKey = namespaceKeys.find((key) => getOwn(parameters, key) !== undefined);
  if (nameKey === undefined && namespaceKey === undefined) return { secret: undefined };
  const name = getOwn(parameters, nameKey ?? '');
  const namespace = getOwn(parameters, namespaceKey ?? '');
  if (!name || !namespace) {
    const missing = name ? (namespaceKey ?? namespaceKeys.at(-1)) : (nameKey ?? nameKeys.at(-1));
    const half = `the ${where} gives only half of a secret reference`;
    return { problem: `${half}: parameter ${missing} is missing or empty` };
  }
  const filledName = filled(name, { ...forNamespace, ...forName }, isDns1123Subdomain, [
    'secret name',
    where,
  ]);
  if ('problem' in filledName) return filledName;
  const filledNamespace = filled(namespace, forNamespace, isDns1123Label, ['namespace', where]);
  if ('problem' in filledNamespace) return filledNamespace;
  return { secret: { name: filledName.text, namespace: filledNamespace.text } };
}

function filled(
  template: string,
  values: Readonly<Record<string, string>>,
  isValid: (text: string) => boolean,
  [what, where]: [string, string],
): { text: string } | { problem: string } {
  const { text, unknown } = fillTemplate(template, new Map(Object.entries(values)));
  if (unknown.length > 0) {
    const tokens = unknown.map((token) => `\${${token}}`).join(', ');
    return { problem: `the ${what} "${template}" in the ${where} uses ${tokens}, which has no value here` };
  }
  if (isValid(text)) return { text };
  const became = text === template ? '' : ` becomes "${text}", which`;
  return { problem: `"${template}" in the ${where}${became} is not a valid ${what}` };
}
