// The addresses of a Service and their families. kube-apiserver checks these when it reserves the addresses, before
// anything else of the Service: where one is wrong, nothing else is reported.

import { isIP } from 'node:net';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, stringOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, invalid } from './checks.ts';

export const NO_ADDRESS = 'None';
const FAMILY_POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

/** Addresses of such a Service come from whoever writes its endpoints, and may be of any family. */
export const isWithoutSelector = (spec: LooseMap): boolean =>
  spec.clusterIP === NO_ADDRESS && Object.keys(mapOf(spec.selector) ?? {}).length === 0;

export function addressErrors(service: Loose, current: Loose | undefined): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(service.spec) ?? {};
  if (spec.type === 'ExternalName') return checks.errors;
  const families = stringsOf(spec.ipFamilies);
  for (const [index, family] of families.entries()) {
    checks.oneOf(at('spec.ipFamilies', index), family, ['IPv4', 'IPv6']);
  }
  checks.oneOf('spec.ipFamilyPolicy', spec.ipFamilyPolicy, FAMILY_POLICIES);
  const addresses = stringsOf(spec.clusterIPs);
  for (const [index, address] of addresses.entries()) {
    const field = at('spec.clusterIPs', index);
    const family = families[index];
    if (address === NO_ADDRESS) continue;
    if (isIP(address) === 0) {
      checks.add(invalid(field, address, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'));
    } else if (family !== undefined && `IPv${isIP(address)}` !== family) {
      checks.add(
        invalid(field, address, `expected an ${family} value as indicated by \`ipFamilies[${index}]\``),
      );
    }
  }
  if (addresses.length > 0 && addresses[0] !== stringOf(spec.clusterIP)) {
    checks.add(invalid('spec.clusterIPs', addresses, 'first value must match `clusterIP`'));
  }
  if (checks.errors.length === 0) checkConfigured(checks, spec, mapOf(current?.spec));
  return checks.errors;
}

/** This server's own addresses are of IPv4. */
function checkConfigured(checks: Checks, spec: LooseMap, current: LooseMap | undefined): void {
  if (isWithoutSelector(spec)) return;
  if (!sameJson(spec.ipFamilies, current?.ipFamilies)) {
    for (const [index, family] of stringsOf(spec.ipFamilies).entries()) {
      if (family !== 'IPv4') {
        checks.add(invalid(at('spec.ipFamilies', index), family, 'not configured on this cluster'));
      }
    }
  }
  if (spec.ipFamilyPolicy === 'RequireDualStack' && current?.ipFamilyPolicy !== spec.ipFamilyPolicy) {
    const detail = 'this cluster is not configured for dual-stack services';
    checks.add(invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, detail));
  }
}
