// Validation of names, labels and qualified names. Each check returns the problems in Kubernetes' words, or none.

const DNS1123_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const DNS1123_SUBDOMAIN = `${DNS1123_LABEL}(\\.${DNS1123_LABEL})*`;
const DNS1035_LABEL = '[a-z]([-a-z0-9]*[a-z0-9])?';
const QUALIFIED_NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?';

interface Rule {
  pattern: RegExp;
  shown: string;
  says: string;
  examples: string[];
  maxLength: number;
}

const rule = (shown: string, says: string, examples: string[], maxLength: number): Rule => ({
  pattern: new RegExp(`^(?:${shown})$`),
  shown,
  says,
  examples,
  maxLength,
});

const LABEL = rule(
  DNS1123_LABEL,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  ['my-name', '123-abc'],
  63,
);
const SUBDOMAIN = rule(
  DNS1123_SUBDOMAIN,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  ['example.com'],
  253,
);
const LABEL_1035 = rule(
  DNS1035_LABEL,
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  ['my-name', 'abc-123'],
  63,
);
const NAME_PART = rule(
  QUALIFIED_NAME,
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  ['MyName', 'my.name', '123-abc'],
  63,
);
const VALUE = rule(
  LABEL_VALUE,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  ['MyValue', 'my_value', '12345'],
  63,
);
const CONFIG_KEY = rule(
  '[-._a-zA-Z0-9]+',
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  ['key.name', 'KEY_NAME', 'key-name'],
  253,
);

function check(text: string, { pattern, shown, says, examples, maxLength }: Rule, prefix = ''): string[] {
  const problems: string[] = [];
  if (text.length > maxLength) problems.push(`${prefix}must be no more than ${maxLength} bytes`);
  if (!pattern.test(text)) {
    const given = examples.map((example) => `'${example}'`).join(',  or ');
    problems.push(`${prefix}${says} (e.g. ${given}, regex used for validation is '${shown}')`);
  }
  return problems;
}

export const dns1123LabelProblems = (text: string): string[] => check(text, LABEL);
export const dns1123SubdomainProblems = (text: string): string[] => check(text, SUBDOMAIN);
export const dns1035LabelProblems = (text: string): string[] => check(text, LABEL_1035);
export const labelValueProblems = (text: string): string[] => check(text, VALUE);

/** Keys of ConfigMap and Secret data. */
export function configKeyProblems(text: string): string[] {
  const problems = check(text, CONFIG_KEY);
  if (text === '.' || text === '..') problems.push(`must not be '${text}'`);
  else if (text.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

/** `name` or `prefix/name`, as label keys, annotation keys and finalizers are. */
export function qualifiedNameProblems(text: string): string[] {
  if (goodNames.has(text)) return [];
  const problems = problemsOfQualifiedName(text);
  if (problems.length === 0) {
    if (goodNames.size >= MAX_GOOD_NAMES) goodNames.clear();
    goodNames.add(text);
  }
  return problems;
}

/** A cache: the same few names are on all objects. */
const goodNames = new Set<string>();
const MAX_GOOD_NAMES = 1000;

function problemsOfQualifiedName(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) {
    return [
      "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ];
  }
  const name = parts.at(-1) ?? '';
  const problems: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') problems.push('prefix part must be non-empty');
    else problems.push(...check(prefix, SUBDOMAIN, 'prefix part '));
  }
  if (name === '') problems.push('name part must be non-empty');
  if (name === '' || !NAME_PART.pattern.test(name) || name.length > 63) {
    problems.push(
      ...check(name, NAME_PART).map((text) => (text.startsWith('must') ? `name part ${text}` : text)),
    );
  }
  return problems;
}

export const labelKeyProblems = qualifiedNameProblems;

/** Names that become a path element without being DNS names (RBAC objects). */
export function pathSegmentProblems(text: string): string[] {
  if (text === '.' || text === '..') return [`may not be '${text}'`];
  const problems: string[] = [];
  if (text.includes('/')) problems.push("may not contain '/'");
  if (text.includes('%')) problems.push("may not contain '%'");
  return problems;
}

export const isDns1123Label = (text: string): boolean => dns1123LabelProblems(text).length === 0;
export const isDns1123Subdomain = (text: string): boolean => dns1123SubdomainProblems(text).length === 0;
