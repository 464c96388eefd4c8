// CSIDriver and CSINode.

import { qualifiedNameProblems } from '../../api/names.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, duplicate, IMMUTABLE, invalid, required } from './checks.ts';
import { checkDriverName } from './volume.ts';

const LIFECYCLE_MODES = ['Ephemeral', 'Persistent'];
const MAX_NODE_ID_BYTES = 256;
/** Tokens are valid for at least ten minutes, and their expiration fits 32 bits. */
const TOKEN_SECONDS = { min: 600, max: 2 ** 32 };

export function validateCSIDriver(driver: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(driver.spec) ?? {};
  checkDriverName(checks, 'metadata.name', driver.metadata.name);
  checks.oneOf('spec.fsGroupPolicy', spec.fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']);
  checks.oneOf('spec.lifecycle', spec.lifecycle, ['ephemeral', 'persistent']);
  const modes = stringsOf(spec.volumeLifecycleModes);
  for (const mode of modes) checks.oneOf('spec.volumeLifecycleModes', mode, LIFECYCLE_MODES);
  if (spec.lifecycle) {
    const named = spec.lifecycle === 'ephemeral' ? 'Ephemeral' : 'Persistent';
    if (!modes.includes(named)) {
      checks.add(invalid('spec.volumeLifecycleModes', modes, `must contain "${named}", as lifecycle says`));
    }
  }
  checkTokenRequests(checks, spec);
  const period = spec.nodeAllocatableUpdatePeriodSeconds;
  if (typeof period === 'number' && period < 10) {
    checks.add(
      invalid(
        'spec.nodeAllocatableUpdatePeriodSeconds',
        period,
        'must be greater than or equal to 10 seconds',
      ),
    );
  }
  return checks.errors;
}

function checkTokenRequests(checks: Checks, spec: LooseMap): void {
  const seen = new Set<unknown>();
  for (const [index, request] of mapsOf(spec.tokenRequests).entries()) {
    const path = at('spec.tokenRequests', index);
    const audience = request.audience ?? '';
    if (seen.has(audience)) checks.add(duplicate(`${path}.audience`, audience));
    seen.add(audience);
    const seconds = request.expirationSeconds;
    if (typeof seconds !== 'number') continue;
    if (seconds < TOKEN_SECONDS.min) {
      checks.add(
        invalid(`${path}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes'),
      );
    }
    if (seconds > TOKEN_SECONDS.max) {
      checks.add(
        invalid(`${path}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds'),
      );
    }
  }
  if (spec.serviceAccountTokenInSecrets !== undefined && mapsOf(spec.tokenRequests).length === 0) {
    checks.add(
      invalid(
        'spec.serviceAccountTokenInSecrets',
        spec.serviceAccountTokenInSecrets,
        'field cannot be set without tokenRequests',
      ),
    );
  }
}

export function validateCSIDriverUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('spec.attachedRequired', next.spec?.attachRequired, current.spec?.attachRequired);
  checks.immutable(
    'spec.volumeLifecycleModes',
    next.spec?.volumeLifecycleModes,
    current.spec?.volumeLifecycleModes,
  );
  return checks.errors;
}

export function validateCSINode(node: Loose): FieldError[] {
  const checks = new Checks();
  const drivers = mapsOf(mapOf(node.spec)?.drivers);
  for (const [index, driver] of drivers.entries()) {
    const path = at('spec.drivers', index);
    checkDriverName(checks, `${path}.name`, driver.name);
    if (
      checks.required(`${path}.nodeID`, driver.nodeID) &&
      Buffer.byteLength(String(driver.nodeID)) > MAX_NODE_ID_BYTES
    ) {
      checks.add(invalid(`${path}.nodeID`, driver.nodeID, `must be ${MAX_NODE_ID_BYTES} characters or less`));
    }
    checks.nonNegative(`${path}.allocatable.count`, mapOf(driver.allocatable)?.count);
    const keys = stringsOf(driver.topologyKeys);
    for (const key of keys) {
      if (key === '') checks.add(required(path));
      else checks.text(path, key, qualifiedNameProblems);
    }
    checks.unique(path, keys, () => path);
  }
  checks.unique(
    'spec.drivers',
    drivers.map((driver) => driver.name),
    (index) => `${at('spec.drivers', index)}.name`,
  );
  return checks.errors;
}

/** An entry may be removed and added again, or change its allocatable count only. */
export function validateCSINodeUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  const fixed = ({ allocatable, ...rest }: LooseMap): LooseMap => rest;
  for (const before of mapsOf(mapOf(current.spec)?.drivers)) {
    const after = mapsOf(mapOf(next.spec)?.drivers).find((driver) => driver.name === before.name);
    if (after && !sameJson(fixed(after), fixed(before))) {
      checks.add(invalid('spec.drivers', fixed(after), IMMUTABLE));
    }
  }
  return checks.errors;
}
