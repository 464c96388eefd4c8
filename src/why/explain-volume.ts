// From a volume to its storage: is it whole, and if it is going, what holds it. Pure.

import type { PersistentVolume } from '../api/kinds.ts';
import { FINALIZER_PROVISIONER, FINALIZER_PV_PROTECTION } from '../api/well-known.ts';
import type { Link } from './chain.ts';
import type { Facts } from './facts.ts';
import { end, enumerated, ok, since } from './link.ts';
import { absenceOf, lookAt } from './who-works.ts';

const ATTACHER_FINALIZER = 'external-attacher/';

export function explainVolume(facts: Facts, volume: PersistentVolume): Link[] {
  const { metadata, spec, status } = volume;
  const subject = `PersistentVolume ${metadata.name}`;
  const driver = spec.csi?.driver;
  if (metadata.deletionTimestamp !== undefined) return explainGoing(facts, volume, subject);
  const phase = status?.phase;
  if (phase === 'Failed') {
    return [
      end(facts, 'stuck', subject, `could not be reclaimed: ${status?.message ?? 'nobody said why'}`, {
        todo: driver ? [lookAt('provisioner', driver)] : [],
        about: volume,
      }),
    ];
  }
  if (phase === 'Released') {
    const { persistentVolumeReclaimPolicy: policy, claimRef } = spec;
    const was = `its claim ${claimRef?.namespace}/${claimRef?.name} is gone`;
    if (policy !== 'Delete') {
      return [
        end(facts, 'stuck', subject, `${was}, and the policy ${policy} keeps it for somebody to look after`, {
          todo: [
            'delete it when its data is no longer needed',
            'or remove spec.claimRef to let another claim have it',
          ],
        }),
      ];
    }
    const absence = driver && absenceOf(facts, 'provisioner', driver);
    return [
      end(facts, absence ? 'stuck' : 'waits', subject, `${was}; ${absence || 'waits to be deleted'}`, {
        todo: driver ? [lookAt('provisioner', driver)] : [],
        about: volume,
      }),
    ];
  }
  return [ok(subject, driver ? `${driver}, volume ${spec.csi?.volumeHandle}` : 'not a CSI volume')];
}

function explainGoing(facts: Facts, volume: PersistentVolume, subject: string): Link[] {
  const { finalizers = [], deletionTimestamp, name } = volume.metadata;
  const { claimRef, csi } = volume.spec;
  const attached = facts.attachments
    .filter(({ spec }) => spec.source.persistentVolumeName === name)
    .map(({ spec }) => spec.nodeName);
  const reasons = finalizers.map((finalizer) => {
    if (finalizer === FINALIZER_PV_PROTECTION) {
      return claimRef === undefined
        ? 'the controller manager has to see that nobody uses it'
        : `claim ${claimRef.namespace}/${claimRef.name} still has it`;
    }
    if (finalizer === FINALIZER_PROVISIONER) {
      const absence = csi && absenceOf(facts, 'provisioner', csi.driver);
      return absence ?? 'the provisioner has to delete it on the storage';
    }
    if (finalizer.startsWith(ATTACHER_FINALIZER)) {
      return attached.length === 0
        ? 'the attacher has to see that it is detached'
        : `it is attached to ${enumerated(attached)}`;
    }
    return `finalizer ${finalizer} is on it, for whoever put it there to remove`;
  });
  return [
    end(
      facts,
      'waits',
      subject,
      `is being deleted${since(deletionTimestamp, facts)}: ${reasons.join('; ') || 'it goes at any moment'}`,
      {
        todo:
          claimRef && finalizers.includes(FINALIZER_PV_PROTECTION)
            ? [`delete claim ${claimRef.namespace}/${claimRef.name} first`]
            : [],
        about: volume,
      },
    ),
  ];
}
