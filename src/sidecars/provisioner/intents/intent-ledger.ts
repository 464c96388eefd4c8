// The ledger of a provisioner's intents, in a Lease: a role that allows leader election allows writing one.

import { hash } from 'node:crypto';
import type { Lease } from '../../../api/kinds.ts';
import { ANN_PROVISIONING_INTENTS } from '../../../api/well-known.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';
import {
  LeaseLedger,
  type LeaseLedgerOptions,
  type LedgerFormat,
  type LedgerPage,
  UnreadableLedgerError,
} from '../../../runtime/leases/lease-ledger.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import type { Intent } from './intent.ts';

type LedgerContext = Pick<
  ProvisionerContext,
  'kube' | 'clock' | 'log' | 'namespace' | 'nodeName' | 'shares'
> & {
  driver: { name: DriverName };
};

const LONGEST_NAME = 253;

/** `nodeName`: the node that the provisioner works for, with one provisioner per node. */
export function ledgerName(driver: DriverName, nodeName?: string): string {
  const name = `provisioning-intents.${driver.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-')}`;
  if (nodeName === undefined) return name;
  const whole = `${name}.${nodeName}`;
  return whole.length <= LONGEST_NAME ? whole : `${name}.${hash('sha256', nodeName).slice(0, 32)}`;
}

export function pageOf(lease: Lease | undefined): LedgerPage<Intent> {
  const text = lease?.metadata.annotations?.[ANN_PROVISIONING_INTENTS];
  if (text === undefined) return { writes: 0, entries: [] };
  const unreadable = `its annotation ${ANN_PROVISIONING_INTENTS} is not a list of intents`;
  let page: { writes?: unknown; intents?: unknown } | null;
  try {
    page = JSON.parse(text);
  } catch (error) {
    throw new UnreadableLedgerError(unreadable, { cause: error });
  }
  const { writes, intents } = page ?? {};
  const isIntent = (each: Partial<Intent>): boolean =>
    typeof each?.uid === 'string' && typeof each.name === 'string' && typeof each.spec === 'object';
  if (typeof writes === 'number' && Array.isArray(intents) && intents.every(isIntent)) {
    return { writes, entries: intents };
  }
  throw new UnreadableLedgerError(unreadable);
}

export function createIntentLedger(
  { kube, clock, log, driver, namespace, nodeName, shares }: LedgerContext,
  { found, left }: Pick<LeaseLedgerOptions<Intent>, 'found' | 'left'>,
): LeaseLedger<Intent> {
  const name = { namespace, name: ledgerName(driver.name, nodeName) };
  const format: LedgerFormat<Intent> = {
    read: pageOf,
    write(known, { writes, entries }) {
      const text = `{"writes":${writes},"intents":[${entries.join(',')}]}`;
      const annotations = { ...known?.metadata.annotations, [ANN_PROVISIONING_INTENTS]: text };
      if (known) return { ...known, metadata: { ...known.metadata, annotations } };
      return { metadata: { ...name, annotations }, spec: { holderIdentity: driver.name } };
    },
  };
  const unusable = 'Intents cannot be kept in a Lease; each is kept on its claim, with a finalizer';
  const isShared = shares !== undefined;
  return new LeaseLedger({ kube, clock, log, name, format, unusable, found, left, isShared });
}
