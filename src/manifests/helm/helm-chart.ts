// A Helm chart of a deployment, from the same objects that are printed as plain manifests. The objects are made once with
// every sidecar, and once more without each switch of the chart; what is missing becomes a condition in the templates. Pure but for
// `make`.

import { stringify } from 'yaml';
import type { Manifest } from '../plan.ts';
import { Expressions } from './expressions.ts';
import { mergeVariants } from './merge-variants.ts';
import { camelCase, withBlocks, withValueFields } from './value-fields.ts';

/** What a chart can switch, and the objects are made with. */
export interface Choice {
  sidecars: readonly string[];
  replicas: number;
  logLevel: 'some' | 'none';
}

export interface ChartPlan {
  name: string;
  description: string;
  version: string;
  /** The sidecars that can be switched on or off, in the order of a command line. */
  sidecars: readonly string[];
  /** Those that are on unless the values say otherwise. */
  defaultSidecars: readonly string[];
  /** Those of the sidecars that share a container. */
  controllers: readonly string[];
  /** The number of replicas is a value. */
  hasReplicas: boolean;
  /** Under which condition a template file has anything at all, by file. */
  conditions?: Readonly<Record<string, string>>;
  /** Comment and default of each value, in order. `sidecars` is added. */
  values: readonly { comment: string; name: string; value: unknown }[];
  /** The objects by template file, with the expressions of `values` in them. */
  make(choice: Choice, values: (name: string) => string): Promise<Record<string, Manifest[]>>;
}

/** By path. */
export async function helmChart(plan: ChartPlan): Promise<Record<string, string>> {
  const to = new Expressions();
  const expressionOf = (name: string): string =>
    to.value(name.startsWith('.') ? name : `.Values.${name} | quote`);
  const base: Choice = { sidecars: plan.sidecars, replicas: 2, logLevel: 'some' };
  const switches: { condition: string; off: Partial<Choice> }[] = [
    ...plan.sidecars.map((name) => ({
      condition: `.Values.sidecars.${camelCase(name)}`,
      off: { sidecars: plan.sidecars.filter((each) => each !== name) },
    })),
    { condition: '.Values.logLevel', off: { logLevel: 'none' } },
    ...(plan.hasReplicas ? [{ condition: 'gt (int .Values.replicas) 1', off: { replicas: 1 } }] : []),
  ];
  const made = async (choice: Choice) =>
    Object.fromEntries(
      Object.entries(await plan.make(choice, expressionOf)).map(([file, objects]) => [
        file,
        objects.map((object) => withValueFields(object, to, plan)),
      ]),
    );
  const whole = await made(base);
  const variants = await Promise.all(
    switches.map(async ({ condition, off }) => ({ condition, tree: await made({ ...base, ...off }) })),
  );
  const files: Record<string, string> = {
    'Chart.yaml': yaml({
      apiVersion: 'v2',
      name: plan.name,
      description: plan.description,
      type: 'application',
      version: plan.version,
      appVersion: plan.version,
    }),
    'values.yaml': valuesText(plan),
    'values.schema.json': `${JSON.stringify(schemaOf(plan), undefined, 2)}\n`,
    ...(plan.controllers.length > 0 && { 'templates/_helpers.tpl': helpers(plan.controllers) }),
  };
  for (const [file, objects] of Object.entries(whole)) {
    const { value, when = plan.conditions?.[file] } = mergeVariants(
      objects,
      variants.map((variant) => ({ ...variant, tree: variant.tree[file] ?? [] })),
      to,
    );
    const documents = (value as unknown[]).map((document) =>
      typeof document === 'string' ? `${document}\n` : `---\n${yaml(document)}`,
    );
    if (documents.length === 0) continue;
    const all =
      when === undefined ? documents : [`${to.line(`if ${when}`)}\n`, ...documents, `${to.line('end')}\n`];
    files[file] = withBlocks(to.print(all.join('')));
  }
  return files;
}

const yaml = (value: unknown): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

function allValues(plan: ChartPlan): ChartPlan['values'] {
  if (plan.sidecars.length === 0) return plan.values;
  const chosen = plan.sidecars.map((name) => [camelCase(name), plan.defaultSidecars.includes(name)]);
  return [
    ...plan.values,
    { comment: 'The sidecars that run.', name: 'sidecars', value: Object.fromEntries(chosen) },
  ];
}

const valuesText = (plan: ChartPlan): string =>
  allValues(plan)
    .map(({ comment, name, value }) => `# ${comment}\n${yaml({ [name]: value })}`)
    .join('\n');

/** Rejects values that no template reads, such as a sidecar that is misspelt. */
function schemaOf(plan: ChartPlan): object {
  const shape = (value: unknown): object => {
    if (Array.isArray(value)) return { type: 'array', items: { type: 'string' } };
    if (typeof value !== 'object' || value === null)
      return { type: typeof value === 'number' ? 'integer' : typeof value };
    return object(value as Record<string, unknown>, shape);
  };
  const object = (fields: Record<string, unknown>, each: (value: unknown) => object): object => ({
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, each(value)])),
  });
  const fields = Object.fromEntries(allValues(plan).map(({ name, value }) => [name, value]));
  const top = object(fields, shape) as { properties: Record<string, object> };
  // What a container requests is Kubernetes' to check.
  const { resources } = fields;
  if (resources) {
    top.properties.resources = object(resources as Record<string, unknown>, () => ({ type: 'object' }));
  }
  // Parents set globals, and Helm passes them to every chart.
  top.properties.global = {};
  return top;
}

const helpers = (
  controllers: readonly string[],
): string => `{{- /* The sidecars that share a container, as its flag lists them. */ -}}
{{- define "controllers" -}}
{{- $on := list -}}
${controllers.map((name) => `{{- if .Values.sidecars.${camelCase(name)} }}{{ $on = append $on "${name}" }}{{ end -}}`).join('\n')}
{{- if not $on }}{{ fail "sidecars: at least one of ${controllers.join(', ')} must be on" }}{{ end -}}
{{- join "," $on -}}
{{- end -}}
`;
