// Restricts nodes to their own objects where the authorizer cannot: by the names of new objects and the content of
// writes. Requests of other users pass.

import type { Node, PersistentVolumeClaim, Pod } from '../../api/kinds.ts';
import {
  csiNodeInfos,
  csiNodes,
  leases,
  nodes,
  persistentVolumeClaims,
  pods,
  serviceAccounts,
} from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { nodeNameOf } from '../auth/users.ts';
import { NODE_LEASE_NAMESPACE } from '../authorization/node-authorizer.ts';
import { isMirrorPod, MIRROR_POD, refersToObjects } from '../authorization/node-references.ts';
import type { AdmissionPlugin, AdmissionRequest, Reader } from '../pipeline.ts';
import { forbiddenLabelChanges, NODE_LABEL_PREFIXES_SETTING } from './node-labels.ts';
import { isAbout, refuse } from './refuse.ts';

interface Context {
  node: string;
  reader: Reader;
  labelPrefixes: readonly string[];
}

export function nodeRestriction(options: {
  reader: Reader;
  labelPrefixes: readonly string[];
}): AdmissionPlugin {
  return {
    name: 'NodeRestriction',
    validate(request) {
      const node = nodeNameOf(request.user);
      if (node === undefined) return;
      if (node === '') refuse(request, `could not determine node from user "${request.user.name}"`);
      const context = { node, ...options };
      if (isAbout(request, pods)) restrictPod(request, context);
      else if (isAbout(request, nodes)) restrictNode(request, context);
      else if (isAbout(request, persistentVolumeClaims)) restrictClaim(request, context);
      else if (isAbout(request, serviceAccounts)) restrictToken(request, context);
      else if (isAbout(request, leases)) restrictLease(request, context);
      else if (isAbout(request, csiNodes)) restrictOwned(request, context, 'CSINode');
      else if (isAbout(request, csiNodeInfos)) restrictOwned(request, context, 'CSINodeInfo');
    },
  };
}

function restrictPod(request: AdmissionRequest, context: Context): void {
  const { operation, subresource } = request;
  const { node, reader } = context;
  if (subresource === '' && operation === 'create') {
    restrictMirrorPod(request, context);
    return;
  }
  const { namespace = '', name } = request;
  const pod = (request.oldObject as Pod | undefined) ?? reader.get(pods, { namespace, name });
  const act = { update: 'update pod status for', delete: 'delete', create: 'evict' }[operation];
  if (subresource === 'status' || subresource === 'eviction' || operation === 'delete') {
    if (pod && pod.spec.nodeName !== node) {
      refuse(request, `node "${node}" can only ${act} pods with spec.nodeName set to itself`);
    }
    const labels = request.object?.metadata.labels;
    if (operation === 'update' && !sameJson(labels ?? {}, pod?.metadata.labels ?? {})) {
      refuse(request, `node "${node}" cannot update labels through pod status`);
    }
    return;
  }
  refuse(
    request,
    `node "${node}" can only create and delete mirror pods, and update the status of its own pods`,
  );
}

function restrictMirrorPod(request: AdmissionRequest, { node, reader }: Context): void {
  const pod = request.object as Pod;
  if (!isMirrorPod(pod)) {
    refuse(
      request,
      `pod does not have "${MIRROR_POD}" annotation, node "${node}" can only create mirror pods`,
    );
  }
  if (pod.spec.nodeName !== node) {
    refuse(request, `node "${node}" can only create pods with spec.nodeName set to itself`);
  }
  const [owner, ...others] = pod.metadata.ownerReferences ?? [];
  const uid = reader.get(nodes, { name: node })?.metadata.uid;
  const isOwn =
    owner?.kind === 'Node' && owner.name === node && owner.controller === true && owner.uid === uid;
  if (!isOwn || others.length > 0) {
    refuse(
      request,
      `node "${node}" can only create pods with a single controller owner reference set to itself`,
    );
  }
  if (refersToObjects(pod)) {
    refuse(request, `node "${node}" can not create pods that reference other API objects`);
  }
}

function restrictNode(request: AdmissionRequest, { node, labelPrefixes }: Context): void {
  if (request.name !== node)
    refuse(request, `node "${node}" is not allowed to modify node "${request.name}"`);
  const next = request.object as Node | undefined;
  const current = request.oldObject as Node | undefined;
  if (!next) return;
  if (current && !sameJson(next.spec?.taints ?? [], current.spec?.taints ?? [])) {
    refuse(request, `node "${node}" is not allowed to modify taints`);
  }
  const owners = (object: KubeObject | undefined) => object?.metadata.ownerReferences ?? [];
  if (current && !sameJson(owners(next), owners(current))) {
    refuse(request, `node "${node}" is not allowed to modify ownerReferences`);
  }
  const labels = forbiddenLabelChanges(next.metadata.labels, current?.metadata.labels, labelPrefixes);
  if (labels.length > 0) {
    const allowed = labelPrefixes.length > 0 ? labelPrefixes.join(', ') : 'none';
    refuse(
      request,
      `node "${node}" is not allowed to set or change the labels ${labels.join(', ')}; besides the kubelet's own labels it ` +
        `may only use the prefixes of the setting ${NODE_LABEL_PREFIXES_SETTING} (now: ${allowed})`,
    );
  }
}

/** What a node may write to a claim: the progress of its expansion. */
function restrictClaim(request: AdmissionRequest, { node }: Context): void {
  if (request.subresource !== 'status' || request.operation !== 'update') {
    refuse(request, `node "${node}" may only update the status of a persistent volume claim`);
  }
  const withoutExpansion = (object: KubeObject | undefined) => {
    const { metadata, spec, status } = object as PersistentVolumeClaim;
    const { resourceVersion: _version, managedFields: _fields, ...rest } = metadata;
    const {
      capacity: _capacity,
      conditions: _conditions,
      allocatedResources: _allocated,
      allocatedResourceStatuses: _statuses,
      ...others
    } = status ?? {};
    return { metadata: rest, spec, status: others };
  };
  if (!sameJson(withoutExpansion(request.object), withoutExpansion(request.oldObject))) {
    refuse(
      request,
      `node "${node}" is not allowed to update fields other than status.capacity, status.conditions and status.allocatedResources`,
    );
  }
}

function restrictToken(request: AdmissionRequest, { node, reader }: Context): void {
  if (request.subresource !== 'token') refuse(request, `node "${node}" may only request tokens`);
  const { spec } = request.object as unknown as {
    spec?: { boundObjectRef?: { kind?: string; name?: string; uid?: string } };
  };
  const { kind, name, uid } = spec?.boundObjectRef ?? {};
  if (kind !== 'Pod' || !name) refuse(request, 'node requested token not bound to a pod');
  if (!uid) refuse(request, 'node requested token with a pod binding without a uid');
  const pod = reader.get(pods, { namespace: request.namespace ?? '', name });
  if (pod?.metadata.uid !== uid) refuse(request, `the pod ${name} that the token is to be bound to is gone`);
  if (pod.spec.nodeName !== node) {
    refuse(request, 'node requested token bound to a pod scheduled on a different node');
  }
}

function restrictLease(request: AdmissionRequest, { node }: Context): void {
  if (request.namespace !== NODE_LEASE_NAMESPACE) {
    refuse(request, `can only access leases in the "${NODE_LEASE_NAMESPACE}" system namespace`);
  }
  if (request.name !== node) {
    refuse(request, 'can only access node lease with the same name as the requesting node');
  }
}

/** One object per node, named after it, and owned only by its Node. */
function restrictOwned(request: AdmissionRequest, { node }: Context, what: string): void {
  if (request.name !== node) {
    refuse(request, `can only access ${what} with the same name as the requesting node`);
  }
  const owners = request.object?.metadata.ownerReferences ?? [];
  if (owners.some((owner) => owner.kind !== 'Node' || owner.name !== node)) {
    refuse(request, `node "${node}" can only make its own Node the owner of a ${what}`);
  }
}
