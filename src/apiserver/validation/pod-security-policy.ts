// PodSecurityPolicies.

import { getOwn } from '../../api/own-property.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, mapOf, mapsOf } from '../kinds/loose.ts';
import { at, Checks } from './checks.ts';

const RULES: readonly (readonly [string, readonly string[], boolean])[] = [
  ['runAsUser', ['MustRunAs', 'MustRunAsNonRoot', 'RunAsAny'], true],
  ['runAsGroup', ['MayRunAs', 'MustRunAs', 'RunAsAny'], false],
  ['seLinux', ['MustRunAs', 'RunAsAny'], true],
  ['supplementalGroups', ['MayRunAs', 'MustRunAs', 'RunAsAny'], true],
  ['fsGroup', ['MayRunAs', 'MustRunAs', 'RunAsAny'], true],
];

export function validatePodSecurityPolicy(policy: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(policy.spec) ?? {};
  for (const [field, supported, needed] of RULES) {
    const strategy = mapOf(getOwn(spec, field));
    if (strategy || needed) checks.oneOf(`spec.${field}.rule`, strategy?.rule ?? '', supported);
  }
  const names = mapsOf(spec.allowedCSIDrivers).map((driver) => driver.name);
  for (const [index, name] of names.entries())
    checks.required(`${at('spec.allowedCSIDrivers', index)}.name`, name);
  checks.unique('spec.allowedCSIDrivers', names, (index) => `${at('spec.allowedCSIDrivers', index)}.name`);
  for (const [index, path] of mapsOf(spec.allowedHostPaths).entries()) {
    checks.required(`${at('spec.allowedHostPaths', index)}.pathPrefix`, path.pathPrefix);
  }
  for (const [index, volume] of mapsOf(spec.allowedFlexVolumes).entries()) {
    checks.required(`${at('spec.allowedFlexVolumes', index)}.driver`, volume.driver);
  }
  return checks.errors;
}
