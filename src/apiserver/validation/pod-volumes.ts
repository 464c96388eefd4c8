// The volumes of a pod: names, exactly one source each, and in detail the sources that Berth handles.

import { dns1123LabelProblems, dns1123SubdomainProblems } from '../../api/names.ts';
import { getOwn } from '../../api/own-property.ts';
import { type LooseMap, mapOf, mapsOf } from '../kinds/loose.ts';
import { at, type Checks, duplicate, forbidden, invalid, required } from './checks.ts';
import { checkClaimSpec } from './claim.ts';
import { checkDriverName, checkHostPath } from './volume.ts';

export function checkPodVolumes(checks: Checks, field: string, volumes: unknown): Set<string> {
  const names = new Set<string>();
  for (const [index, volume] of mapsOf(volumes).entries()) {
    const path = at(field, index);
    const name = String(volume.name ?? '');
    if (name === '') checks.add(required(`${path}.name`));
    else checks.text(`${path}.name`, name, dns1123LabelProblems);
    if (names.has(name)) checks.add(duplicate(`${path}.name`, name));
    names.add(name);
    checkSource(checks, path, volume);
  }
  return names;
}

/** In kube-apiserver's order: the first one is validated, others are one too many. Sources that are not listed come first. */
const SOURCES_IN_ORDER = [
  'emptyDir',
  'hostPath',
  'secret',
  'nfs',
  'iscsi',
  'persistentVolumeClaim',
  'downwardAPI',
  'fc',
  'configMap',
  'projected',
  'csi',
  'ephemeral',
  'image',
];

function checkSource(checks: Checks, path: string, volume: LooseMap): void {
  const sources = Object.keys(volume)
    .filter((key) => key !== 'name' && mapOf(volume[key]) !== undefined)
    .sort((a, b) => SOURCES_IN_ORDER.indexOf(a) - SOURCES_IN_ORDER.indexOf(b));
  if (sources.length === 0) checks.add(required(path, 'must specify a volume type'));
  for (const extra of sources.slice(1)) {
    checks.add(forbidden(`${path}.${extra}`, 'may not specify more than 1 volume type'));
  }
  const source = mapOf(getOwn(volume, sources[0] ?? '')) ?? {};
  switch (sources[0]) {
    case 'csi':
      checkInlineCSI(checks, `${path}.csi`, source);
      break;
    case 'persistentVolumeClaim':
      checks.required(`${path}.persistentVolumeClaim.claimName`, source.claimName);
      break;
    case 'ephemeral':
      checkEphemeral(checks, `${path}.ephemeral`, source);
      break;
    case 'secret':
      checks.required(`${path}.secret.secretName`, source.secretName);
      checkMode(checks, `${path}.secret.defaultMode`, source.defaultMode);
      checkItems(checks, `${path}.secret.items`, source.items);
      break;
    case 'configMap':
      checks.required(`${path}.configMap.name`, source.name);
      checkMode(checks, `${path}.configMap.defaultMode`, source.defaultMode);
      checkItems(checks, `${path}.configMap.items`, source.items);
      break;
    case 'hostPath':
      checkHostPath(checks, `${path}.hostPath`, source);
      break;
    case 'emptyDir':
      if (source.sizeLimit !== undefined) checks.quantity(`${path}.emptyDir.sizeLimit`, source.sizeLimit);
      break;
    case 'nfs':
      checks.required(`${path}.nfs.server`, source.server);
      checks.required(`${path}.nfs.path`, source.path);
      break;
    default:
      break;
  }
}

function checkItems(checks: Checks, field: string, items: unknown): void {
  for (const [index, item] of mapsOf(items).entries()) {
    const place = at(field, index);
    checks.required(`${place}.key`, item.key);
    if (!checks.required(`${place}.path`, item.path)) continue;
    const path = String(item.path);
    if (path.startsWith('/')) checks.add(invalid(`${place}.path`, path, 'must be a relative path'));
    if (path.split('/').includes('..')) checks.add(invalid(`${place}.path`, path, "must not contain '..'"));
  }
}

function checkMode(checks: Checks, field: string, mode: unknown): void {
  if (typeof mode === 'number' && (mode < 0 || mode > 0o777)) {
    checks.add(invalid(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive'));
  }
}

function checkInlineCSI(checks: Checks, path: string, csi: LooseMap): void {
  checkDriverName(checks, `${path}.driver`, csi.driver);
  for (const name of ['nodePublishSecretRef', 'controllerPublishSecretRef', 'nodeStageSecretRef']) {
    const reference = mapOf(csi[name]);
    if (!reference) continue;
    if (checks.required(`${path}.${name}.name`, reference.name)) {
      checks.text(`${path}.${name}.name`, reference.name, dns1123SubdomainProblems);
    }
  }
}

function checkEphemeral(checks: Checks, path: string, source: LooseMap): void {
  const template = mapOf(source.volumeClaimTemplate);
  if (!template) {
    checks.add(required(`${path}.volumeClaimTemplate`));
    return;
  }
  checkClaimSpec(checks, `${path}.volumeClaimTemplate.spec`, mapOf(template.spec) ?? {});
  const metadata = Object.keys(mapOf(template.metadata) ?? {});
  for (const field of metadata.filter((name) => name !== 'labels' && name !== 'annotations')) {
    checks.add(
      forbidden(`${path}.volumeClaimTemplate.metadata.${field}`, 'cannot be set for an ephemeral volume'),
    );
  }
}
