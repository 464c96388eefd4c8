// The Lease that holds a provisioner's intents: its name, and how they stand in it. A Lease, because whoever may elect a
// leader may write one. Pure.

import { hash } from 'node:crypto';
import type { Lease } from '../../../api/kinds.ts';
import type { Draft } from '../../../api/object.ts';
import { ANN_PROVISIONING_INTENTS } from '../../../api/well-known.ts';
import type { Intent } from './intent.ts';

const LONGEST_NAME = 253;

/** `nodeName`: of the one node that the provisioner makes volumes for. */
export function ledgerName(driver: string, nodeName?: string): string {
  const name = `provisioning-intents.${driver.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-')}`;
  if (nodeName === undefined) return name;
  const whole = `${name}.${nodeName}`;
  return whole.length <= LONGEST_NAME ? whole : `${name}.${hash('sha256', nodeName).slice(0, 32)}`;
}

export interface LedgerPage {
  /**
   * How often it was written. It makes each write differ from what is stored: one that changes nothing would not be a
   * new version, and an older one that is still on its way could then replace it.
   */
  writes: number;
  intents: readonly Intent[];
}

/** It holds what this program did not write: intents may be in it that must not be lost. */
export class UnreadableLedgerError extends Error {
  override readonly name = 'UnreadableLedgerError';
}

export function pageOf(lease: Lease | undefined): LedgerPage {
  const text = lease?.metadata.annotations?.[ANN_PROVISIONING_INTENTS];
  if (text === undefined) return { writes: 0, intents: [] };
  let page: Partial<LedgerPage> | null;
  try {
    page = JSON.parse(text);
  } catch (error) {
    throw new UnreadableLedgerError(`its annotation ${ANN_PROVISIONING_INTENTS} is not JSON`, {
      cause: error,
    });
  }
  const { writes, intents } = page ?? {};
  const isIntent = (each: Partial<Intent>): boolean =>
    typeof each?.uid === 'string' && typeof each.name === 'string' && typeof each.spec === 'object';
  if (typeof writes !== 'number' || !Array.isArray(intents) || !intents.every(isIntent)) {
    throw new UnreadableLedgerError(`its annotation ${ANN_PROVISIONING_INTENTS} is not a list of intents`);
  }
  return { writes, intents };
}

/** `intents` are JSON already: each is written many times and changes never. */
export function leaseWith(
  known: Lease | { namespace: string; name: string; driver: string },
  page: { writes: number; intents: readonly string[] },
): Draft<Lease> {
  const text = `{"writes":${page.writes},"intents":[${page.intents.join(',')}]}`;
  if (!('metadata' in known)) {
    const { namespace, name, driver } = known;
    return {
      metadata: { namespace, name, annotations: { [ANN_PROVISIONING_INTENTS]: text } },
      spec: { holderIdentity: driver },
    };
  }
  const annotations = { ...known.metadata.annotations, [ANN_PROVISIONING_INTENTS]: text };
  return { ...known, metadata: { ...known.metadata, annotations } };
}
