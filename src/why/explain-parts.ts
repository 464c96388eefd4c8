// Nodes, drivers and classes: what volumes depend on. Pure.

import type { CSIDriver, Node, StorageClass } from '../api/kinds.ts';
import type { DriverName, NodeName } from '../csi/names/driver-name.ts';
import type { Link } from './chain.ts';
import { explainFaults } from './explain-faults.ts';
import { impossibleTopology, unknownProvisioner } from './explain-provisioning.ts';
import { explainFailure, explainRegistration, nodesWith, silentNodeAdvice } from './explain-reach.ts';
import { attachmentsTo, isReady, volumeNamed, warningsAbout } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, enumerated, ok, since } from './link.ts';
import { lastSeenMs } from './report.ts';
import { absenceOf, lookAt, ROLES } from './who-works.ts';

export function explainNode(facts: Facts, node: Node): Link[] {
  const name = node.metadata.name as NodeName;
  const subject = `Node ${name}`;
  if (!isReady(node)) {
    const condition = node.status?.conditions?.find(({ type }) => type === 'Ready');
    const reason = condition?.message ? `: ${condition.message}` : '';
    const says = `does not answer${since(condition?.lastTransitionTime, facts)}${reason}`;
    return [
      end(facts, 'stuck', subject, says, {
        todo: silentNodeAdvice(name),
        about: node,
        cause: `node ${name}`,
      }),
    ];
  }
  const drivers = facts.csiNodes.find(({ metadata }) => metadata.name === name)?.spec.drivers ?? [];
  const refused = warningsAbout(facts, node)
    .filter(({ reason }) => reason === 'FailedCSIDriverRegistration')
    .toSorted((a, b) => lastSeenMs(b) - lastSeenMs(a))[0];
  const isThere = drivers.some((driver) => refused?.message?.includes(driver.name));
  if (refused?.message !== undefined && !isThere) {
    const todo = ["read the log of the driver's node-registrar there"];
    return [end(facts, 'stuck', subject, refused.message, { todo, about: node })];
  }
  const list = drivers.map((driver) => driver.name).join(', ') || 'no driver';
  const links = [
    ok(subject, `ready, with ${list}${node.spec?.unschedulable ? '; takes no new pods (cordoned)' : ''}`),
  ];
  for (const attachment of attachmentsTo(facts, name)) {
    const volume = volumeNamed(facts, attachment.spec.source.persistentVolumeName);
    const what = volume
      ? `PersistentVolume ${volume.metadata.name}`
      : `VolumeAttachment ${attachment.metadata.name}`;
    const isOpen = attachment.metadata.deletionTimestamp !== undefined || !attachment.status?.attached;
    if (!isOpen) continue;
    const driver = attachment.spec.attacher as DriverName;
    const registration = explainRegistration(facts, driver, name);
    if (registration.state !== 'ok') return [...links, registration];
    const failure = explainFailure(facts, attachment, { volume, subject: what });
    if (failure) return [...links, failure];
  }
  return links;
}

export function explainDriver(facts: Facts, { metadata }: CSIDriver): Link[] {
  const name = metadata.name as DriverName;
  const subject = `CSIDriver ${name}`;
  const nodes = nodesWith(facts, name);
  if (nodes.length === 0 && !facts.unread.includes('csinodes')) {
    return [
      end(facts, 'stuck', subject, 'is installed, and registered on no node', {
        todo: ["check that the driver's pods run on the nodes, and read the log of their node-registrar"],
      }),
    ];
  }
  const absent = ROLES.flatMap((role) => {
    const says = absenceOf(facts, role, name);
    return says === undefined ? [] : [{ role, says }];
  })[0];
  const registered = ok(subject, `is on ${enumerated(nodes)}`);
  if (absent === undefined) return [registered, ...explainFaults(facts, metadata)];
  const { role, says } = absent;
  return [
    registered,
    end(facts, 'stuck', `${role} of ${name}`, says, { todo: [lookAt(role, name)], cause: says }),
  ];
}

export function explainClass(facts: Facts, storageClass: StorageClass): Link[] {
  const subject = `StorageClass ${storageClass.metadata.name}`;
  const problem = unknownProvisioner(facts, storageClass) ?? impossibleTopology(facts, storageClass);
  if (problem === undefined) return [ok(subject, `of ${storageClass.provisioner}`)];
  const { says, todo, cause } = problem;
  return [end(facts, 'stuck', subject, says, { todo, ...(cause !== undefined && { cause }) })];
}
