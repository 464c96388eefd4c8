// Defaults of CustomResourceDefinitions.

import { ensureMap, type Loose, mapOf, setDefault } from '../kinds/loose.ts';

export function setDefinitionDefaults(crd: Loose): void {
  const spec = ensureMap(crd, 'spec');
  setDefault(ensureMap(spec, 'conversion'), 'strategy', 'None');
  const names = mapOf(spec.names);
  if (names && typeof names.kind === 'string') {
    setDefault(names, 'singular', names.kind.toLowerCase());
    setDefault(names, 'listKind', `${names.kind}List`);
  }
}
