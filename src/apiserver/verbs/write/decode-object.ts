// Decodes a body into an object of the kind that the path names: checks type, API version, name and namespace, and
// handles unknown fields as the request asks. The result is as private to the request as the body was.

import { asText } from '../../../api/as-text.ts';
import { apiVersionOf, type KubeObject, type Metadata } from '../../../api/object.ts';
import { deleteOwn } from '../../../api/own-property.ts';
import type { Kind } from '../../kind.ts';
import { pruneUnknownFields } from '../../validation/unknown-fields.ts';
import { isObject, type WriteRequest } from '../request.ts';
import { badRequest } from '../status.ts';

/** `stored`: the current object; parts that the body shares with it were decoded before. */
export function decodeObject(body: unknown, request: WriteRequest, stored?: KubeObject): KubeObject {
  const object = decodeBody(body ?? {}, request, stored);
  placeInNamespace(object, request);
  return object;
}

/** The same for an object whose namespace the caller checks. */
export function decodeBody(body: unknown, request: WriteRequest, stored?: KubeObject): KubeObject {
  const { kind } = request;
  if (!isObject(body)) throw cannotHandle(kind, 'the body must be a JSON object');
  checkType(body, kind);
  const metadata = body.metadata ?? {};
  if (!isObject(metadata)) throw cannotHandle(kind, 'metadata must be an object');
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...sections } = body;
  const object = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { ...metadata },
    ...sections,
  } as unknown as KubeObject;
  normalizeMetadata(object.metadata, kind);
  const { managedFields } = object.metadata;
  reportUnknownFields(object, request, stored);
  // An empty list is no absent one: it drops all ownership.
  if (managedFields?.length === 0) object.metadata.managedFields = managedFields;
  return object;
}

function reportUnknownFields(
  object: KubeObject,
  { kind, fieldValidation, warn }: WriteRequest,
  stored?: KubeObject,
): void {
  const unknown = pruneUnknownFields(object, kind, stored);
  if (unknown.length === 0 || fieldValidation === 'Ignore') return;
  const texts = unknown.map((path) => `unknown field "${path}"`);
  if (fieldValidation === 'Strict') {
    throw cannotHandle(kind, `strict decoding error: ${texts.join(', ')}`);
  }
  for (const text of texts) warn(text);
}

function checkType(body: Record<string, unknown>, kind: Kind): void {
  const { apiVersion, kind: bodyKind } = body;
  if (apiVersion !== undefined && apiVersion !== '' && apiVersion !== apiVersionOf(kind)) {
    throw badRequest(
      `the API version in the data (${asText(apiVersion)}) does not match the expected API version (${apiVersionOf(kind)})`,
    );
  }
  if (bodyKind !== undefined && bodyKind !== '' && bodyKind !== kind.kind) {
    throw badRequest(
      `${asText(bodyKind)} in version "${kind.version}" cannot be handled as a ${kind.kind}: ` +
        `the kind in the data does not match the expected kind (${kind.kind})`,
    );
  }
}

const TEXTS = ['name', 'namespace', 'generateName', 'uid', 'resourceVersion'];
const MAPS = ['labels', 'annotations'];
const LISTS = ['finalizers', 'ownerReferences', 'managedFields'];

/** Absent, null and empty mean the same in Kubernetes metadata; here they all become absent. */
function normalizeMetadata(metadata: Metadata, kind: Kind): void {
  const fields = metadata as unknown as Record<string, unknown>;
  for (const field of TEXTS) {
    const value = fields[field];
    if (value === undefined || value === null || value === '') deleteOwn(fields, field);
    else if (typeof value !== 'string') throw cannotHandle(kind, `metadata.${field} must be a string`);
  }
  for (const field of MAPS) {
    const value = fields[field];
    if (value === undefined || value === null) deleteOwn(fields, field);
    else if (!isObject(value) || !allStrings(value)) {
      fields[field] = withEmptyForNull(value) ?? fail(kind, `metadata.${field} must be a map of strings`);
    }
  }
  for (const field of LISTS) {
    const value = fields[field];
    if (value === undefined || value === null) deleteOwn(fields, field);
    else if (!Array.isArray(value)) throw cannotHandle(kind, `metadata.${field} must be a list`);
    else if (value.length === 0 && field !== 'managedFields') deleteOwn(fields, field);
    else if (field === 'finalizers' && value.some((each) => typeof each !== 'string')) {
      throw cannotHandle(kind, 'metadata.finalizers must be a list of strings');
    } else if (field !== 'finalizers' && value.some((each) => !isObject(each))) {
      throw cannotHandle(kind, `metadata.${field} must be a list of objects`);
    }
  }
  deleteOwn(fields, 'selfLink');
}

/** V8 repeatedly optimizes and deoptimizes a for-in over maps with many hidden classes. */
function allStrings(map: Record<string, unknown>): boolean {
  return Object.values(map).every((value) => typeof value === 'string');
}

/** Go decodes a null in a map of strings as an empty string. */
function withEmptyForNull(value: unknown): Record<string, unknown> | undefined {
  if (!isObject(value)) return undefined;
  const map = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, each ?? '']));
  return allStrings(map) ? map : undefined;
}

function fail(kind: Kind, why: string): never {
  throw cannotHandle(kind, why);
}

/** Sets the namespace of the request; another one is rejected. */
export function placeInNamespace(object: KubeObject, { kind, namespace }: WriteRequest): void {
  const { metadata } = object;
  if (!kind.namespaced) {
    deleteOwn(metadata as object as Record<string, unknown>, 'namespace');
    return;
  }
  if (namespace === undefined) throw badRequest('an empty namespace may not be set during creation');
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  metadata.namespace = namespace;
}

function cannotHandle(kind: Kind, why: string): Error {
  return badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${why}`);
}
