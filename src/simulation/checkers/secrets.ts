// Secrets appear in the calls that they belong to, and in no other object or field.

import { SECRET_MARK as MARK, secretText } from '../class-objects.ts';
import { type SecretKind, SNAPSHOT_SECRETS, secretKinds } from '../plan.ts';
import type { Checker, Rules } from './index.ts';

const MARK_BASE64 = Buffer.from(MARK).toString('base64').slice(0, 10);

const KIND_OF: Readonly<Record<string, SecretKind>> = {
  CreateVolume: 'provisioner',
  DeleteVolume: 'provisioner',
  ControllerPublishVolume: 'controller-publish',
  ControllerUnpublishVolume: 'controller-publish',
  NodeStageVolume: 'node-stage',
  NodePublishVolume: 'node-publish',
  ControllerExpandVolume: 'controller-expand',
  NodeExpandVolume: 'node-expand',
  CreateSnapshot: 'snapshotter',
  DeleteSnapshot: 'snapshotter',
  CreateVolumeGroupSnapshot: 'group-snapshotter',
  DeleteVolumeGroupSnapshot: 'group-snapshotter',
};

export function secretChecker({ plan, violate }: Rules): Checker {
  const kindsOf = (driver: string) => secretKinds(plan.drivers.find(({ name }) => name === driver) ?? {});
  const owned = [
    ...plan.classes.map((each) => ({ ...each, kinds: kindsOf(each.driver) })),
    ...plan.snapshotClasses.map((each) => ({ ...each, kinds: SNAPSHOT_SECRETS })),
  ].filter(({ secrets }) => secrets);
  if (owned.length === 0) return {};
  const expected = new Set(
    owned.flatMap(({ name, driver, kinds }) =>
      kinds.map((kind: SecretKind) => `${driver} ${kind} ${secretText(name, kind)}`),
    ),
  );

  return {
    delivered({ call: { method, driver, secrets, rest, volume } }) {
      for (const secret of secrets) {
        if (!expected.has(`${driver} ${KIND_OF[method]} ${secret}`)) {
          violate('secret', `${method} ${volume} of ${driver} came with ${secret}`);
        }
      }
      if (rest.includes(MARK)) violate('secret', `${method} ${volume} shows a secret outside of its secrets`);
    },
    api({ plural, key, before, after }) {
      if (plural !== 'secrets' && after && shows(after, before)) {
        violate('secret', `${plural} ${key} shows a secret`);
      }
    },
  };
}

/** Whether any text of it holds a secret. What it shares with the version before was searched then. */
function shows(value: unknown, before: unknown): boolean {
  if (value === before) return false;
  if (typeof value === 'string') return value.includes(MARK) || value.includes(MARK_BASE64);
  if (typeof value !== 'object' || value === null) return false;
  const known = before as Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    if (key.includes(MARK) || shows((value as Record<string, unknown>)[key], known?.[key])) return true;
  }
  return false;
}
