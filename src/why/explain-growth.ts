// Changes of a bound claim: its expansion, and the attributes that it asks for. They fail while everything else works, so they
// are explained after it. Pure.

import { currentSize, expansionState, requestedSize, wantsExpansion } from '../api/claim-expansion.ts';
import type { PersistentVolumeClaim, Pod } from '../api/kinds.ts';
import { storageClassOf } from '../api/volumes.ts';
import { type DriverName, type NodeName, volumeNamesOf } from '../csi/names/driver-name.ts';
import { allGrpcCodes, goCodeName, grpcCodes } from '../wire/grpc/grpc-code.ts';
import type { Link } from './chain.ts';
import { classNamed, podsOf, volumeNamed } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, objectArgument, reported } from './link.ts';
import { newestReport, type Report, reportInStatus } from './report.ts';
import { absenceOf, lookAt } from './who-works.ts';

export function explainChanges(facts: Facts, claim: PersistentVolumeClaim): Link[] {
  if (claim.status?.phase !== 'Bound' || claim.metadata.deletionTimestamp !== undefined) return [];
  return [...explainExpansion(facts, claim), ...explainModification(facts, claim)];
}

function explainExpansion(facts: Facts, claim: PersistentVolumeClaim): Link[] {
  if (!wantsExpansion(claim)) return [];
  const has = currentSize(claim);
  const subject = `expansion to ${requestedSize(claim)}`;
  const users = podsOf(facts, claim);
  const onNode =
    expansionState(claim)?.startsWith('NodeResize') || conditionOf(claim, 'FileSystemResizePending');
  const failed =
    statusReport(facts, claim, { type: onNode ? 'NodeResizeError' : 'ControllerResizeError', users }) ??
    newestReport(facts, onNode ? [...users, claim] : [claim], ['VolumeResizeFailed']);
  if (failed !== undefined) {
    const attempt = {
      ...attemptOn(facts, claim),
      operation: onNode ? 'NodeExpandVolume' : 'ControllerExpandVolume',
      size: has,
      node: users.find(({ spec }) => spec.nodeName)?.spec.nodeName as NodeName | undefined,
    } as const;
    const isInfeasible = expansionState(claim)?.endsWith('Infeasible') === true;
    const report = { ...failed, times: isInfeasible ? Math.max(2, failed.times) : failed.times };
    return [reported(facts, subject, { report, attempt, before: `has ${has}: `, about: claim })];
  }
  if (onNode) {
    const isUsed = users.length > 0;
    return [
      end(
        facts,
        isUsed ? 'waits' : 'stuck',
        subject,
        'the storage is larger; the file system on it is expanded on a node',
        {
          todo: isUsed ? [] : ['start a pod that uses the claim'],
          about: claim,
        },
      ),
    ];
  }
  const name = storageClassOf(claim);
  const storageClass = classNamed(facts, name);
  if (storageClass && !storageClass.allowVolumeExpansion) {
    const todo = [`set allowVolumeExpansion of StorageClass ${name}`];
    const says = `has ${has}, and class ${name} does not allow expansion`;
    return [end(facts, 'stuck', subject, says, { todo, about: claim })];
  }
  return [waitsForResizer(facts, claim, { subject, before: `has ${has}; ` })];
}

function explainModification(facts: Facts, claim: PersistentVolumeClaim): Link[] {
  const wanted = claim.spec.volumeAttributesClassName;
  const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = claim.status ?? {};
  if (!wanted || wanted === current) return [];
  const subject = `attributes of ${wanted}`;
  const about = claim;
  const { driver } = attemptOn(facts, claim);
  const attributes = facts.attributesClasses?.find(({ metadata }) => metadata.name === wanted);
  if (facts.attributesClasses !== undefined && attributes === undefined) {
    const todo = [`create VolumeAttributesClass ${wanted}`, 'or let the claim name one that exists'];
    return [
      end(facts, 'stuck', subject, `VolumeAttributesClass ${wanted} does not exist`, {
        todo,
        about,
        cause: `no VolumeAttributesClass ${wanted}`,
      }),
    ];
  }
  if (attributes !== undefined && driver !== undefined && attributes.driverName !== driver) {
    const says = `VolumeAttributesClass ${wanted} is of driver ${attributes.driverName}, the volume of ${driver}`;
    return [end(facts, 'stuck', subject, says, { todo: [`let the claim name a class of ${driver}`], about })];
  }
  const failed =
    statusReport(facts, claim, { type: 'ModifyVolumeError', users: [] }) ??
    newestReport(facts, [claim], ['VolumeModifyFailed']);
  if (failed !== undefined) {
    const attempt = { ...attemptOn(facts, claim), operation: 'ControllerModifyVolume' } as const;
    const times = modifyVolumeStatus?.status === 'Infeasible' ? Math.max(2, failed.times) : failed.times;
    return [reported(facts, subject, { report: { ...failed, times }, attempt, about })];
  }
  return [waitsForResizer(facts, claim, { subject, before: '' })];
}

function waitsForResizer(
  facts: Facts,
  claim: PersistentVolumeClaim,
  { subject, before }: { subject: string; before: string },
): Link {
  const { driver = 'its driver' as DriverName } = attemptOn(facts, claim);
  const absence = absenceOf(facts, 'resizer', driver);
  const says = absence ?? `waits for the resizer of ${driver}`;
  return end(facts, absence === undefined ? 'waits' : 'stuck', subject, `${before}${says}`, {
    todo: [lookAt('resizer', driver)],
    about: claim,
  });
}

function attemptOn(facts: Facts, claim: PersistentVolumeClaim) {
  const csi = volumeNamed(facts, claim.spec.volumeName)?.spec.csi;
  const names = csi && volumeNamesOf(csi);
  return {
    object: objectArgument('pvc', claim),
    driver: names?.driver,
    volumeHandle: names?.volumeHandle,
    storageClass: storageClassOf(claim),
  };
}

function conditionOf({ status }: PersistentVolumeClaim, type: string) {
  return status?.conditions?.find((each) => each.type === type && each.status === 'True');
}

/** A condition may have the code, as Go prints it, as its reason. */
function statusReport(
  facts: Facts,
  claim: PersistentVolumeClaim,
  { type, users }: { type: string; users: readonly Pod[] },
): Report | undefined {
  const condition = conditionOf(claim, type);
  if (condition === undefined) return undefined;
  const { message, lastTransitionTime: time, reason } = condition;
  const report = reportInStatus(facts, { ...(message && { message }), ...(time && { time }) }, [
    claim,
    ...users,
  ]);
  const code = allGrpcCodes.find((each) => goCodeName(grpcCodes[each]) === reason);
  return report && { ...(code !== undefined && { code }), ...report };
}
