// Replaces what the values of a chart set by template expressions, in the objects of any variant: replicas, verbosity,
// resources, the driver's arguments and the list of sidecars. Pure.

import type { Container } from 'kubernetes-types/core/v1.js';
import type { Manifest } from '../plan.ts';
import type { Expressions } from './expressions.ts';

interface Workload {
  replicas?: unknown;
  template?: { spec?: { containers: Container[] } };
}

/** `--log-level` while the objects are made for a chart: the argument is replaced. */
export const SOME_LOG_LEVEL = 9;

export const camelCase = (name: string): string =>
  name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

export const resourcesKey = ({ name }: Pick<Container, 'name'>): string => `resources.${camelCase(name)}`;

/** A copy with expressions. `hasReplicas`: the number of replicas is a value of this chart. */
export function withValueFields(
  manifest: Manifest,
  to: Expressions,
  { hasReplicas }: { hasReplicas: boolean },
): Manifest {
  const { spec, ...rest } = structuredClone(manifest) as { spec?: Workload } & Omit<Manifest, 'spec'>;
  if (spec?.template?.spec === undefined) return manifest;
  if (hasReplicas && spec.replicas !== undefined) spec.replicas = to.value('.Values.replicas');
  spec.template.spec.containers = spec.template.spec.containers.map((container) =>
    container.name === 'driver' ? driverFields(container, rest.kind ?? '', to) : berthFields(container, to),
  );
  return { ...rest, spec };
}

function berthFields(container: Container, to: Expressions): Container {
  return {
    ...container,
    args: (container.args ?? []).map((argument) => {
      if (argument === `--v=${SOME_LOG_LEVEL}`) return `--v=${to.value('.Values.logLevel')}`;
      return argument.startsWith('--controllers=')
        ? `--controllers=${to.value('include "controllers" .')}`
        : argument;
    }),
    resources: block(resourcesKey(container), to),
  };
}

function driverFields(container: Container, kind: string, to: Expressions): Container {
  const own = kind === 'DaemonSet' ? 'nodeArgs' : 'controllerArgs';
  const { volumeMounts, ...rest } = container;
  return {
    ...rest,
    args: to.value(`concat .Values.driver.args .Values.driver.${own} | toJson`) as never,
    // Not set unless the values have it.
    resources: to.value('.Values.resources.driver | OPTIONAL') as unknown as object,
    volumeMounts,
  } as Container;
}

const block = (path: string, to: Expressions): object =>
  to.value(`.Values.${path} | BLOCK`) as unknown as object;

/** Prints the maps of values on the lines below their fields, indented. */
export const withBlocks = (text: string): string =>
  text.replaceAll(
    /^( *)(\w+): \{\{ (\S+) \| (BLOCK|OPTIONAL) \}\}$/gm,
    (_, indent: string, field: string, path: string, kind: string) => {
      const lines = (value: string) =>
        `${indent}${field}:\n${indent}  {{- toYaml ${value} | nindent ${indent.length + 2} }}`;
      return kind === 'BLOCK'
        ? lines(path)
        : `${indent}{{- with ${path} }}\n${lines('.')}\n${indent}{{- end }}`;
    },
  );
