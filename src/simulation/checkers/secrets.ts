// Secrets arrive in the calls they belong to, and turn up nowhere else: in no other object, and in no other field.

import { SECRET_KINDS } from '../plan.ts';
import { SECRET_MARK as MARK } from '../users.ts';
import type { Checker, Rules } from './index.ts';

const MARK_BASE64 = Buffer.from(MARK).toString('base64').slice(0, 10);

const KIND_OF: Readonly<Record<string, (typeof SECRET_KINDS)[number]>> = {
  CreateVolume: 'provisioner',
  DeleteVolume: 'provisioner',
  ControllerPublishVolume: 'controller-publish',
  ControllerUnpublishVolume: 'controller-publish',
  NodeStageVolume: 'node-stage',
  NodePublishVolume: 'node-publish',
};

export function secretChecker({ plan, violate }: Rules): Checker {
  const withSecrets = plan.classes.filter(({ secrets }) => secrets);
  if (withSecrets.length === 0) return () => {};
  const expected = new Set(
    withSecrets.flatMap(({ name, driver }) =>
      SECRET_KINDS.map((kind) => `${driver} ${kind} ${MARK}${name}-${kind}`),
    ),
  );

  return (entry) => {
    if (entry.kind === 'delivered') {
      const { method, driver, secrets, rest, volume } = entry.call;
      for (const secret of secrets) {
        if (!expected.has(`${driver} ${KIND_OF[method]} ${secret}`)) {
          violate('secret', `${method} ${volume} of ${driver} came with ${secret}`);
        }
      }
      if (rest.includes(MARK)) violate('secret', `${method} ${volume} shows a secret outside of its secrets`);
    } else if (entry.kind === 'api' && entry.plural !== 'secrets' && entry.after) {
      // Most objects are small; those that do not change in text are not in the history at all.
      const text = JSON.stringify(entry.after);
      if (text.includes(MARK) || text.includes(MARK_BASE64)) {
        violate('secret', `${entry.plural} ${entry.key} shows a secret`);
      }
    }
  };
}
