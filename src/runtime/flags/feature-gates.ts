// `--feature-gates=A=true,B=false`, as in Kubernetes.
// A gate that is always on here is accepted, so that existing manifests keep working, and cannot be turned off.
import { type Flag, flagOf, InvalidValue, pairs } from './flag.ts';

export interface FeatureGate {
  default: boolean;
  stage: 'alpha' | 'beta' | 'stable';
  help: string;
  /** The value cannot be changed: setting it to the other one is an error that says so. */
  locked?: boolean;
}

type Gates<N extends string> = Readonly<Record<N, boolean>>;

export function featureGatesFlag<const N extends string>(
  gates: Readonly<Record<N, FeatureGate>>,
  options: { group?: string } = {},
): Flag<Gates<N>> {
  const names = Object.keys(gates) as N[];
  const defaults = Object.fromEntries(names.map((name) => [name, gates[name].default])) as Gates<N>;

  const parse = (text: string, previous: Gates<N> | undefined): Gates<N> => {
    const values: Record<string, boolean> = { ...(previous ?? defaults) };
    const named = pairs(text, '=').map(([name, value]) => [name, parseSwitch(name, value)] as const);
    // AllAlpha and AllBeta are applied first, so that a gate named beside them wins in any order.
    for (const [collective, value] of named) {
      const stage = collective === 'AllAlpha' ? 'alpha' : collective === 'AllBeta' ? 'beta' : undefined;
      for (const name of names) if (stage === gates[name].stage && !gates[name].locked) values[name] = value;
    }
    for (const [name, value] of named) {
      if (name === 'AllAlpha' || name === 'AllBeta') continue;
      const gate = (gates as Readonly<Record<string, FeatureGate>>)[name];
      if (gate === undefined || !Object.hasOwn(gates, name)) {
        throw new InvalidValue(`unknown feature gate ${name}; known are ${names.join(', ') || 'none'}`);
      }
      if (gate.locked && value !== gate.default) {
        throw new InvalidValue(`feature gate ${name} is always ${gate.default ? 'on' : 'off'} here`);
      }
      values[name] = value;
    }
    return values as Gates<N>;
  };

  const help = ['Switches for optional behaviour:', ...names.map((name) => describe(name, gates[name]))];
  return flagOf<Gates<N>>(
    {
      type: 'Gate=true|false,…',
      parse,
      format: (values) =>
        names
          .filter((name) => values[name] !== defaults[name])
          .map((name) => `${name}=${values[name]}`)
          .join(','),
    },
    {
      help: help.join('\n'),
      default: defaults,
      ...(options.group === undefined ? {} : { group: options.group }),
    },
  );
}

function parseSwitch(name: string, value: string): boolean {
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw new InvalidValue(`feature gate ${name} must be true or false, not "${value}"`);
}

function describe(name: string, gate: FeatureGate): string {
  const standing = gate.locked
    ? `${gate.stage}, always ${gate.default}`
    : `${gate.stage}, default ${gate.default}`;
  return `${name} (${standing}): ${gate.help}`;
}
