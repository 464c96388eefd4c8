// Claims must stay within the ResourceQuotas of their namespace. Checked against the claims themselves, committed or
// pending, never against `status.used`, which a controller writes later for users.

import {
  claimUsage,
  countsClaims,
  exceeded,
  isAboutClaims,
  NO_USAGE,
  subtractUsage,
  type Usage,
} from '../../api/claim-quota.ts';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type ResourceQuota,
  resourceQuotas,
} from '../../api/kinds.ts';
import { getOwn } from '../../api/own-property.ts';
import { canonicalQuantity, formatQuantity } from '../../api/quantity.ts';
import type { AdmissionPlugin, AdmissionRequest, Reader } from '../pipeline.ts';
import { ClaimUsage } from './claim-usage.ts';
import { isAbout, refuse } from './refuse.ts';

export function resourceQuota({ reader }: { reader: Reader }): AdmissionPlugin {
  const usage = new ClaimUsage(reader);

  function checkClaim(request: AdmissionRequest): void {
    const { namespace = '' } = request;
    const quotas = [...reader.list(resourceQuotas, namespace)].filter(isAboutClaims);
    if (quotas.length === 0) return;
    const before = request.oldObject ? claimUsage(request.oldObject as PersistentVolumeClaim) : NO_USAGE;
    const asked = subtractUsage(claimUsage(request.object as PersistentVolumeClaim), before);
    const used = usage.of(namespace);
    for (const quota of quotas) {
      const names = exceeded(quota, { used, asked });
      if (names.length === 0) continue;
      const hard = names.map((name) => `${name}=${canonicalQuantity(getOwn(quota.spec?.hard, name) ?? '0')}`);
      refuse(
        request,
        `exceeded quota: ${quota.metadata.name}, requested: ${shown(asked, names)}, ` +
          `used: ${shown(used, names)}, limited: ${hard.join(',')}`,
      );
    }
  }

  return {
    name: 'ResourceQuota',
    validate(request) {
      if (request.operation === 'delete' || request.subresource !== '') return;
      if (isAbout(request, persistentVolumeClaims)) checkClaim(request);
      else if (isAbout(request, resourceQuotas)) warnOfUncounted(request);
    },
  };
}

const shown = (usage: Usage, names: readonly string[]): string =>
  names
    .map((name) => {
      const amount = usage.get(name);
      return `${name}=${amount ? formatQuantity(amount) : '0'}`;
    })
    .join(',');

function warnOfUncounted(request: AdmissionRequest): void {
  const { spec } = request.object as ResourceQuota;
  for (const name of Object.keys(spec?.hard ?? {})) {
    if (!countsClaims(name)) request.warn(`spec.hard[${name}] is not enforced: only claims are counted here`);
  }
}
