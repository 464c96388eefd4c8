// VolumeAttachments: exactly one source, inline only for CSI, and an immutable spec.

import { dns1123SubdomainProblems } from '../../api/names.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, type LooseMap, mapOf } from '../kinds/loose.ts';
import { Checks, forbidden, invalid, required, tooLong } from './checks.ts';
import { checkAccessModes } from './claim.ts';
import { checkDriverName, sourcesOf } from './volume.ts';

const SOURCES = ['inlineVolumeSource', 'inlineVolumeSpec', 'persistentVolumeName'];
const ONE_SOURCE =
  'must specify exactly one of inlineVolumeSource, inlineVolumeSpec and persistentVolumeName';
const MAX_MESSAGE_BYTES = 1024;
const MAX_METADATA_BYTES = 256 * 1024;

export function validateAttachment(attachment: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(attachment.spec) ?? {};
  checkDriverName(checks, 'spec.attacher', spec.attacher);
  checks.text('spec.nodeName', spec.nodeName ?? '', dns1123SubdomainProblems);
  checkSource(checks, mapOf(spec.source) ?? {});
  checkStatus(checks, mapOf(attachment.status) ?? {});
  return checks.errors;
}

function checkSource(checks: Checks, source: LooseMap): void {
  const field = 'spec.source';
  const given = SOURCES.filter((name) => source[name] !== undefined && source[name] !== null);
  if (given.length === 0) checks.add(required(field, ONE_SOURCE));
  else if (given.length > 1) checks.add(forbidden(field, ONE_SOURCE));
  else if (source.persistentVolumeName === '') {
    checks.add(required(`${field}.persistentVolumeName`, 'must specify non empty persistentVolumeName'));
  } else if (source.persistentVolumeName) {
    checks.text(`${field}.persistentVolumeName`, source.persistentVolumeName, dns1123SubdomainProblems);
  }
  const spec = mapOf(source.inlineVolumeSpec);
  if (spec) checkInlineSpec(checks, `${field}.inlineVolumeSpec`, spec);
  const inline = mapOf(source.inlineVolumeSource);
  if (inline) checkInlineSource(checks, `${field}.inlineVolumeSource`, inline);
}

/** Fields that an inline spec may not have, because it is no object of its own. */
const NOT_INLINE = [
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'nodeAffinity',
  'volumeMode',
];

function checkInlineSpec(checks: Checks, field: string, spec: LooseMap): void {
  for (const name of NOT_INLINE) {
    if (spec[name])
      checks.add(forbidden(`${field}.${name}`, 'may not be specified in the context of inline volumes'));
  }
  for (const name of Object.keys(mapOf(spec.capacity) ?? {}).slice(0, 1)) {
    checks.add(
      forbidden(`${field}.capacity`, `may not be specified in the context of inline volumes: ${name}`),
    );
  }
  checkAccessModes(checks, `${field}.accessModes`, spec.accessModes);
  for (const source of sourcesOf(spec)) {
    if (source !== 'csi')
      checks.add(
        forbidden(`${field}.${source}`, 'only csi may be specified in the context of inline volumes'),
      );
  }
  const csi = mapOf(spec.csi);
  if (!csi)
    checks.add(
      required(`${field}.csi`, 'must specify CSIPersistentVolumeSource in the context of inline volumes'),
    );
  else {
    checkDriverName(checks, `${field}.csi.driver`, csi.driver);
    checks.required(`${field}.csi.volumeHandle`, csi.volumeHandle);
  }
}

function checkInlineSource(checks: Checks, field: string, inline: LooseMap): void {
  checks.required(`${field}.namespace`, inline.namespace);
  const source = mapOf(inline.volumeSource) ?? {};
  for (const name of Object.keys(source)) {
    if (name !== 'csi' && name !== 'name')
      checks.add(forbidden(`${field}.volumeSource.${name}`, 'only csi may be specified'));
  }
  const csi = mapOf(source.csi);
  if (!csi) checks.add(required(`${field}.volumeSource.csi`));
  else {
    checkDriverName(checks, `${field}.volumeSource.csi.driver`, csi.driver);
    checks.required(`${field}.volumeSource.csi.volumeHandle`, csi.volumeHandle);
  }
}

function checkStatus(checks: Checks, status: LooseMap): void {
  for (const name of ['attachError', 'detachError']) {
    const error = mapOf(status[name]);
    if (!error) continue;
    if (Buffer.byteLength(String(error.message ?? '')) > MAX_MESSAGE_BYTES) {
      checks.add(tooLong(`status.${name}.message`, MAX_MESSAGE_BYTES));
    }
    if (typeof error.errorCode === 'number' && error.errorCode < 0) {
      checks.add(
        invalid(`status.${name}.errorCode`, error.errorCode, 'must be between 0 and 2147483647, inclusive'),
      );
    }
  }
  const metadata = Object.entries(mapOf(status.attachmentMetadata) ?? {});
  const bytes = metadata.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  if (bytes > MAX_METADATA_BYTES) checks.add(tooLong('status.attachmentMetadata', MAX_METADATA_BYTES));
}

export function validateAttachmentUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('spec', next.spec, current.spec);
  return checks.errors;
}
