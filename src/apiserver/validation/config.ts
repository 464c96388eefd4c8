// ConfigMaps and Secrets: keys, sizes, types, and immutable objects. That data is base64 was checked when it was decoded.

import { configKeyProblems } from '../../api/names.ts';
import { getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, mapOf, stringOf } from '../kinds/loose.ts';
import { Checks, forbidden, invalid, required, tooLong } from './checks.ts';

/** One MiB of data in total, keys not counted. */
const MAX_BYTES = 1024 * 1024;

function bytesOf(base64: string): number {
  return Math.floor((base64.length * 3) / 4) - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);
}

/** Keys that a type of secret must have. */
const TYPE_KEYS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
};

export function validateSecret(secret: Loose): FieldError[] {
  const checks = new Checks();
  const data = mapOf(secret.data) ?? {};
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    checks.text(`data[${key}]`, key, configKeyProblems);
    size += bytesOf(stringOf(value));
  }
  if (size > MAX_BYTES) checks.add(tooLong('data', MAX_BYTES));
  for (const key of getOwn(TYPE_KEYS, secret.type) ?? []) {
    if (!Object.hasOwn(data, key)) checks.add(required(`data[${key}]`));
  }
  if (
    secret.type === 'kubernetes.io/basic-auth' &&
    data.username === undefined &&
    data.password === undefined
  ) {
    checks.add(required('data[username]'), required('data[password]'));
  }
  if (secret.type === 'kubernetes.io/service-account-token') {
    const account = 'kubernetes.io/service-account.name';
    if (!secret.metadata.annotations?.[account]) checks.add(required(`metadata.annotations[${account}]`));
  }
  return checks.errors;
}

export function validateSecretUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('type', next.type, current.type);
  checkImmutableData(checks, next, current, ['data']);
  return checks.errors;
}

export function validateConfigMap(map: Loose): FieldError[] {
  const checks = new Checks();
  const text = mapOf(map.data) ?? {};
  const binary = mapOf(map.binaryData) ?? {};
  let size = 0;
  for (const [key, value] of Object.entries(text)) {
    checks.text(`data[${key}]`, key, configKeyProblems);
    if (Object.hasOwn(binary, key))
      checks.add(invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    size += Buffer.byteLength(String(value));
  }
  for (const [key, value] of Object.entries(binary)) {
    checks.text(`binaryData[${key}]`, key, configKeyProblems);
    size += bytesOf(stringOf(value));
  }
  if (size > MAX_BYTES) checks.add(tooLong('', MAX_BYTES));
  return checks.errors;
}

export function validateConfigMapUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checkImmutableData(checks, next, current, ['data', 'binaryData']);
  return checks.errors;
}

function checkImmutableData(checks: Checks, next: Loose, current: Loose, fields: readonly string[]): void {
  if (current.immutable !== true) return;
  const detail = 'field is immutable when `immutable` is set';
  if (next.immutable !== true) checks.add(forbidden('immutable', detail));
  for (const field of fields) {
    if (!sameJson(getOwn(next, field) ?? {}, getOwn(current, field) ?? {}))
      checks.add(forbidden(field, detail));
  }
}
