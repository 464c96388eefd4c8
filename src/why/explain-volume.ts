// From a volume to its storage: is it whole, and if it is being deleted, what holds it. Pure.

import type { PersistentVolume } from '../api/kinds.ts';
import { FINALIZER_PROVISIONER, FINALIZER_PV_PROTECTION } from '../api/well-known.ts';
import { volumeNamesOf } from '../csi/names/driver-name.ts';
import type { Link } from './chain.ts';
import { attachmentsOf } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, enumerated, objectArgument, ok, reported, since } from './link.ts';
import { newestReport, reportOf } from './report.ts';
import { absenceOf, lookAt } from './who-works.ts';

const ATTACHER_FINALIZER = 'external-attacher/';

export function explainVolume(facts: Facts, volume: PersistentVolume): Link[] {
  const { metadata, spec, status } = volume;
  const subject = `PersistentVolume ${metadata.name}`;
  const isGoing = metadata.deletionTimestamp !== undefined;
  const phase = status?.phase;
  const { persistentVolumeReclaimPolicy: policy, claimRef, csi } = spec;
  const names = csi && volumeNamesOf(csi);
  const isReclaimed = phase === 'Released' || phase === 'Failed' || isGoing;
  const report = isReclaimed ? newestReport(facts, [volume], ['VolumeFailedDelete']) : undefined;
  if (report !== undefined && names) {
    const attempt = { ...names, operation: 'DeleteVolume', object: objectArgument('pv', volume) } as const;
    return [reported(facts, subject, { report, attempt, before: 'cannot be deleted: ', about: volume })];
  }
  if (isGoing) return explainGoing(facts, volume, subject);
  if (phase === 'Failed') {
    const words = status?.message ? reportOf(status.message).words : 'nobody said why';
    return [
      end(facts, 'stuck', subject, `could not be reclaimed: ${words}`, {
        todo: names ? [lookAt('provisioner', names.driver)] : [],
        about: volume,
      }),
    ];
  }
  if (phase === 'Released') {
    const was = `its claim ${claimRef?.namespace}/${claimRef?.name} is gone`;
    if (policy !== 'Delete') {
      return [
        end(
          facts,
          'stuck',
          subject,
          `${was}, and the policy ${policy} keeps it until somebody deletes it or gives it to another claim`,
          {
            todo: [
              'delete it when its data is no longer needed',
              'or remove spec.claimRef to let another claim have it',
            ],
          },
        ),
      ];
    }
    const absence = names && absenceOf(facts, 'provisioner', names.driver);
    return [
      end(facts, absence ? 'stuck' : 'waits', subject, `${was}; ${absence || 'waits to be deleted'}`, {
        todo: names ? [lookAt('provisioner', names.driver)] : [],
        about: volume,
      }),
    ];
  }
  return [ok(subject, names ? `${names.driver}, volume ${names.volumeHandle}` : 'not a CSI volume')];
}

function explainGoing(facts: Facts, volume: PersistentVolume, subject: string): Link[] {
  const { finalizers = [], deletionTimestamp } = volume.metadata;
  const { claimRef, csi } = volume.spec;
  const attached = attachmentsOf(facts, volume).map(({ spec }) => spec.nodeName);
  const reasons = finalizers.map((finalizer) => {
    if (finalizer === FINALIZER_PV_PROTECTION) {
      return claimRef === undefined
        ? 'the controller manager has to see that nobody uses it'
        : `claim ${claimRef.namespace}/${claimRef.name} still has it`;
    }
    if (finalizer === FINALIZER_PROVISIONER) {
      const absence = csi && absenceOf(facts, 'provisioner', volumeNamesOf(csi).driver);
      return absence ?? 'the provisioner has to delete it on the storage';
    }
    if (finalizer.startsWith(ATTACHER_FINALIZER)) {
      return attached.length === 0
        ? 'the attacher has to see that it is detached'
        : `it is attached to ${enumerated(attached)}`;
    }
    return `finalizer ${finalizer} is on it, which only its owner removes`;
  });
  return [
    end(
      facts,
      'waits',
      subject,
      `is being deleted${since(deletionTimestamp, facts)}: ${reasons.join('; ') || 'it is deleted at any moment'}`,
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
