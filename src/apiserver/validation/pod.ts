// Pods and pod specs: a manifest that a real API server rejects is rejected here, in the same words.

import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from '../../api/names.ts';
import { getOwn } from '../../api/own-property.ts';
import { compareQuantities, isQuantity } from '../../api/quantity.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError, Subresource } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf } from '../kinds/loose.ts';
import { at, Checks, duplicate, forbidden, invalid, notFound, required } from './checks.ts';
import { checkContainerRules } from './container-rules.ts';
import { checkNodeSelector } from './node-selector.ts';
import { validateEphemeralContainers, validateResize } from './pod-parts.ts';
import { checkPodVolumes } from './pod-volumes.ts';

export function validatePod(pod: Loose): FieldError[] {
  const checks = new Checks();
  checkPodSpec(checks, 'spec', mapOf(pod.spec) ?? {});
  return checks.errors;
}

export function checkPodSpec(checks: Checks, field: string, spec: LooseMap): void {
  const volumes = checkPodVolumes(checks, `${field}.volumes`, spec.volumes);
  const ofClaims = new Set(
    mapsOf(spec.volumes)
      .filter((volume) => volume.persistentVolumeClaim || volume.ephemeral)
      .map((volume) => String(volume.name)),
  );
  const containers = mapsOf(spec.containers);
  checks.required(`${field}.containers`, containers);
  const names = new Set<string>();
  for (const list of ['containers', 'initContainers'] as const) {
    for (const [index, container] of mapsOf(spec[list]).entries()) {
      const path = at(`${field}.${list}`, index);
      checkContainer(checks, path, container, volumes, names);
      checkDevices(checks, path, container, { all: volumes, ofClaims });
    }
  }
  checks.oneOf(`${field}.restartPolicy`, spec.restartPolicy, ['Always', 'Never', 'OnFailure']);
  checks.oneOf(`${field}.dnsPolicy`, spec.dnsPolicy, [
    'ClusterFirst',
    'ClusterFirstWithHostNet',
    'Default',
    'None',
  ]);
  const { activeDeadlineSeconds: deadline } = spec;
  if (typeof deadline === 'number' && (deadline < 1 || deadline > MAX_INT32)) {
    checks.add(
      invalid(`${field}.activeDeadlineSeconds`, deadline, `must be between 1 and ${MAX_INT32}, inclusive`),
    );
  }
  checkSecurityContext(checks, `${field}.securityContext`, mapOf(spec.securityContext) ?? {});
  for (const [index, gate] of mapsOf(spec.schedulingGates).entries()) {
    checks.text(at(`${field}.schedulingGates`, index), gate.name, qualifiedNameProblems);
  }
  for (const [index, spread] of mapsOf(spec.topologySpreadConstraints).entries()) {
    const path = `${at(`${field}.topologySpreadConstraints`, index)}.whenUnsatisfiable`;
    checks.oneOf(path, spread.whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
  }
  if (spec.nodeName) checks.text(`${field}.nodeName`, spec.nodeName, dns1123SubdomainProblems);
  if (spec.hostname) checks.text(`${field}.hostname`, spec.hostname, dns1123LabelProblems);
  if (spec.serviceAccountName) {
    checks.text(`${field}.serviceAccountName`, spec.serviceAccountName, dns1123SubdomainProblems);
  }
  for (const [key, value] of Object.entries(mapOf(spec.nodeSelector) ?? {})) {
    checks.text(`${field}.nodeSelector`, key, labelKeyProblems);
    checks.text(`${field}.nodeSelector`, value, labelValueProblems);
  }
  const affinity = mapOf(
    mapOf(mapOf(spec.affinity)?.nodeAffinity)?.requiredDuringSchedulingIgnoredDuringExecution,
  );
  if (affinity) {
    checkNodeSelector(
      checks,
      `${field}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`,
      affinity,
    );
  }
  for (const [index, toleration] of mapsOf(spec.tolerations).entries()) {
    checkToleration(checks, at(`${field}.tolerations`, index), toleration);
  }
}

const MAX_INT32 = 2 ** 31 - 1;

function checkSecurityContext(checks: Checks, field: string, context: LooseMap): void {
  for (const name of ['fsGroup', 'runAsUser', 'runAsGroup']) {
    const id = context[name];
    if (typeof id === 'number' && (id < 0 || id > MAX_INT32)) {
      checks.add(invalid(`${field}.${name}`, id, `must be between 0 and ${MAX_INT32}, inclusive`));
    }
  }
  checks.oneOf(`${field}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
}

function checkContainer(
  checks: Checks,
  path: string,
  container: LooseMap,
  volumes: ReadonlySet<string>,
  names: Set<string>,
): void {
  const name = String(container.name ?? '');
  if (name === '') checks.add(required(`${path}.name`));
  else checks.text(`${path}.name`, name, dns1123LabelProblems);
  if (names.has(name)) checks.add(duplicate(`${path}.name`, name));
  names.add(name);
  checks.required(`${path}.image`, container.image);
  checks.oneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
  checkPorts(checks, path, container);
  checkResources(checks, `${path}.resources`, mapOf(container.resources) ?? {});
  checkMounts(checks, path, container, volumes);
  checkContainerRules(checks, path, container);
  for (const [index, variable] of mapsOf(container.env).entries()) {
    checks.required(`${at(`${path}.env`, index)}.name`, variable.name);
    if (variable.value && variable.valueFrom) {
      checks.add(
        invalid(
          `${at(`${path}.env`, index)}.valueFrom`,
          '',
          'may not be specified when `value` is not empty',
        ),
      );
    }
  }
}

function checkPorts(checks: Checks, path: string, container: LooseMap): void {
  for (const [index, port] of mapsOf(container.ports).entries()) {
    const field = at(`${path}.ports`, index);
    for (const name of ['containerPort', 'hostPort']) {
      const number = port[name];
      if (number === undefined && name === 'hostPort') continue;
      if (number === undefined) checks.add(required(`${field}.${name}`));
      else if (typeof number === 'number' && (number < 1 || number > 65535)) {
        checks.add(invalid(`${field}.${name}`, number, 'must be between 1 and 65535, inclusive'));
      }
    }
    checks.oneOf(`${field}.protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']);
  }
}

function checkResources(checks: Checks, field: string, resources: LooseMap): void {
  const limits = mapOf(resources.limits) ?? {};
  for (const [name, amount] of Object.entries(limits)) checks.quantity(`${field}.limits[${name}]`, amount);
  for (const [name, amount] of Object.entries(mapOf(resources.requests) ?? {})) {
    const valid = checks.quantity(`${field}.requests[${name}]`, amount);
    const limit = getOwn(limits, name);
    if (valid && isQuantity(limit) && compareQuantities(String(amount), String(limit)) > 0) {
      checks.add(
        invalid(`${field}.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`),
      );
    }
  }
}

function checkMounts(checks: Checks, path: string, container: LooseMap, volumes: ReadonlySet<string>): void {
  const paths = new Set<unknown>();
  for (const [index, mount] of mapsOf(container.volumeMounts).entries()) {
    const field = at(`${path}.volumeMounts`, index);
    if (checks.required(`${field}.name`, mount.name) && !volumes.has(String(mount.name))) {
      checks.add(notFound(`${field}.name`, mount.name));
    }
    checks.required(`${field}.mountPath`, mount.mountPath);
    if (paths.has(mount.mountPath))
      checks.add(invalid(`${field}.mountPath`, mount.mountPath, 'must be unique'));
    paths.add(mount.mountPath);
    if (String(mount.subPath ?? '').startsWith('/')) {
      checks.add(invalid(`${path}.volumeMounts.subPath`, mount.subPath, 'must be a relative path'));
    }
    if (
      String(mount.subPath ?? '')
        .split('/')
        .includes('..')
    ) {
      checks.add(invalid(`${path}.volumeMounts.subPath`, mount.subPath, "must not contain '..'"));
    }
    checks.oneOf(`${path}.volumeMounts.mountPropagation`, mount.mountPropagation, [
      'Bidirectional',
      'HostToContainer',
      'None',
    ]);
  }
  for (const [index, device] of mapsOf(container.volumeDevices).entries()) {
    const field = at(`${path}.volumeDevices`, index);
    if (checks.required(`${field}.name`, device.name) && !volumes.has(String(device.name))) {
      checks.add(notFound(`${field}.name`, device.name));
    }
    checks.required(`${field}.devicePath`, device.devicePath);
    if (paths.has(device.devicePath))
      checks.add(invalid(`${field}.devicePath`, device.devicePath, 'must be unique'));
    paths.add(device.devicePath);
  }
}

/** A device comes from a claim, and is neither mounted nor at the path of a mount. */
function checkDevices(
  checks: Checks,
  path: string,
  container: LooseMap,
  volumes: { all: ReadonlySet<string>; ofClaims: ReadonlySet<string> },
): void {
  const mounts = mapsOf(container.volumeMounts);
  const devices = mapsOf(container.volumeDevices);
  const [mounted, mountPaths] = [mounts.map(({ name }) => name), mounts.map(({ mountPath }) => mountPath)];
  for (const [index, { name, devicePath }] of devices.entries()) {
    const field = at(`${path}.volumeDevices`, index);
    if (volumes.all.has(String(name)) && !volumes.ofClaims.has(String(name))) {
      checks.add(
        invalid(
          `${field}.name`,
          name,
          'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
        ),
      );
    }
    if (mounted.includes(name)) {
      checks.add(invalid(`${field}.name`, name, 'must not already exist in volumeMounts'));
    }
    if (mountPaths.includes(devicePath)) {
      checks.add(
        invalid(`${field}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'),
      );
    }
  }
  for (const [index, { name, mountPath }] of mounts.entries()) {
    const field = at(`${path}.volumeMounts`, index);
    if (devices.some((device) => device.name === name)) {
      checks.add(invalid(`${field}.name`, name, 'must not already exist in volumeDevices'));
    }
    if (devices.some((device) => device.devicePath === mountPath)) {
      checks.add(
        invalid(`${field}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices'),
      );
    }
  }
}

export function checkToleration(checks: Checks, path: string, toleration: LooseMap): void {
  if (toleration.key) checks.text(`${path}.key`, toleration.key, labelKeyProblems);
  const operator = toleration.operator ?? 'Equal';
  if (!toleration.key && operator !== 'Exists') {
    checks.add(
      invalid(
        `${path}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    );
  }
  if (operator === 'Exists' && toleration.value) {
    checks.add(invalid(`${path}.operator`, toleration, "value must be empty when `operator` is 'Exists'"));
  }
  checks.oneOf(`${path}.operator`, operator, ['Equal', 'Exists']);
  if (toleration.effect)
    checks.oneOf(`${path}.effect`, toleration.effect, ['NoExecute', 'NoSchedule', 'PreferNoSchedule']);
  if (toleration.tolerationSeconds !== undefined && toleration.effect !== 'NoExecute') {
    checks.add(
      invalid(
        `${path}.effect`,
        toleration.effect ?? '',
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
      ),
    );
  }
}

const UPDATABLE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

export function validatePodUpdate(next: Loose, current: Loose, subresource: Subresource): FieldError[] {
  if (subresource === 'ephemeralcontainers') return validateEphemeralContainers(next, current);
  if (subresource === 'resize') return validateResize(next, current);
  const checks = new Checks();
  if (subresource === 'status' || next.spec === current.spec) return checks.errors;
  const [after, before] = [mapOf(next.spec) ?? {}, mapOf(current.spec) ?? {}];
  if (subresource === 'binding') {
    if (before.nodeName && before.nodeName !== after.nodeName) {
      checks.add(forbidden('spec.nodeName', `pod is already assigned to node "${before.nodeName}"`));
    }
    return checks.errors;
  }
  for (const list of ['containers', 'initContainers']) {
    if (mapsOf(after[list]).length === mapsOf(before[list]).length) continue;
    checks.add(forbidden(`spec.${list}`, 'pod updates may not add or remove containers'));
    return checks.errors;
  }
  const kept = mapsOf(before.tolerations).every((old) =>
    mapsOf(after.tolerations).some((each) =>
      sameJson({ ...each, tolerationSeconds: 0 }, { ...old, tolerationSeconds: 0 }),
    ),
  );
  if (!kept)
    checks.add(
      forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'),
    );
  const gates = new Set(mapsOf(before.schedulingGates).map(({ name }) => name));
  for (const [index, { name }] of mapsOf(after.schedulingGates).entries()) {
    if (gates.has(name)) continue;
    const detail = `only deletion is allowed, but found new scheduling gate '${String(name)}'`;
    checks.add(forbidden(`${at('spec.schedulingGates', index)}.name`, detail));
  }
  if (!sameJson(fixedPart(after), fixedPart(before))) checks.add(forbidden('spec', UPDATABLE));
  return checks.errors;
}

function fixedPart(spec: LooseMap): LooseMap {
  const { activeDeadlineSeconds, tolerations, schedulingGates, ...rest } = spec;
  const withoutImages = (list: unknown): LooseMap[] =>
    mapsOf(list).map(({ image, ...container }) => container);
  return {
    ...rest,
    containers: withoutImages(spec.containers),
    initContainers: withoutImages(spec.initContainers),
  };
}
