// The node authorizer: a node may read what its own pods need, and write its own objects. Names of new objects are not
// known here; the NodeRestriction admission plugin completes these rules. No opinion on users that are not nodes.

import { pods, volumeAttachments } from '../../api/kinds.ts';
import { getOwn } from '../../api/own-property.ts';
import { parseFieldSelector } from '../../api/selectors.ts';
import { nodeNameOf } from '../auth/users.ts';
import type { Attributes, Authorizer, Decision, Reader } from '../pipeline.ts';
import { createNodeRelations, type NodeRelations, type RelatedKind } from './node-relations.ts';
import { CompiledRules } from './policy-rules.ts';

export const NODE_LEASE_NAMESPACE = 'kube-node-lease';

/** Kinds on which all nodes have the same rights, whatever pods they run. */
const UNIFORM_RULES = new CompiledRules([
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['subjectaccessreviews', 'localsubjectaccessreviews'],
    verbs: ['create'],
  },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'update', 'patch'] },
  {
    apiGroups: ['storage.k8s.io', 'csi.storage.k8s.io'],
    resources: ['csidrivers'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['get', 'list', 'watch'] },
]);

const allow: Decision = { decision: 'allow' };
const no = (reason: string): Decision => ({ decision: 'no-opinion', reason });
const READ = ['get', 'list', 'watch'];
const OWN = ['get', 'create', 'update', 'patch', 'delete'];

const RELATED: Readonly<Record<string, RelatedKind>> = {
  secrets: 'secret',
  configmaps: 'configmap',
  persistentvolumes: 'volume',
  persistentvolumeclaims: 'claim',
};

export function createNodeAuthorizer(reader: Reader): Authorizer {
  const relations = createNodeRelations(reader);
  return {
    authorize(attributes) {
      const node = nodeNameOf(attributes.user);
      if (node === undefined) return { decision: 'no-opinion' };
      if (node === '') return no(`unknown node for user "${attributes.user.name}"`);
      return decide(node, attributes, { reader, relations });
    },
  };
}

interface Context {
  reader: Reader;
  relations: NodeRelations;
}

function decide(node: string, attributes: Attributes, context: Context): Decision {
  const { group = '', plural = '', subresource = '', verb } = attributes;
  const related = group === '' ? getOwn(RELATED, plural) : undefined;
  if (related === 'claim' && subresource === 'status') {
    // The node reports the size after an expansion; admission restricts the write to that.
    return ['update', 'patch'].includes(verb)
      ? byRelation(node, 'claim', attributes, context)
      : no('can only update or patch the status');
  }
  if (related) return readSingle(attributes) ?? byRelation(node, related, attributes, context);
  switch (`${plural}.${group}`) {
    case 'pods.':
      return decidePod(node, attributes, context);
    case 'nodes.':
      return decideNode(node, attributes);
    case 'serviceaccounts.':
      if (verb === 'get' && subresource === '')
        return byRelation(node, 'serviceaccount', attributes, context);
      if (verb !== 'create' || subresource !== 'token') {
        return no('can only create tokens for individual service accounts');
      }
      return byRelation(node, 'serviceaccount', attributes, context);
    case 'volumeattachments.storage.k8s.io':
      return readSingle(attributes) ?? decideAttachment(node, attributes, context);
    case 'leases.coordination.k8s.io':
      if (attributes.namespace !== NODE_LEASE_NAMESPACE) {
        return no(`can only access leases in the "${NODE_LEASE_NAMESPACE}" system namespace`);
      }
      return decideOwn(node, attributes, 'node lease');
    case 'csinodes.storage.k8s.io':
      return decideOwn(node, attributes, 'CSINode');
    case 'csinodeinfos.csi.storage.k8s.io':
      return decideOwn(node, attributes, 'CSINodeInfo');
  }
  return UNIFORM_RULES.allows(attributes) ? allow : { decision: 'no-opinion' };
}

/** Undefined unless this is a read of one object by name (including a list or watch of one name). */
function readSingle({ verb, subresource, name }: Attributes): Decision | undefined {
  if (!READ.includes(verb)) return no('can only read resources of this type');
  if (subresource) return no('cannot read subresources');
  if (!name) return no('can only read individual objects of this type');
  return undefined;
}

function byRelation(
  node: string,
  kind: RelatedKind,
  attributes: Attributes,
  { relations }: Context,
): Decision {
  const { namespace, name } = attributes;
  if (!name) return no('can only act on individual objects of this type');
  const key = namespace ? `${namespace}/${name}` : name;
  return relations.isRelated(node, kind, key)
    ? allow
    : no(`no relationship found between node '${node}' and this object`);
}

function decideAttachment(node: string, { name = '' }: Attributes, { reader }: Context): Decision {
  return reader.get(volumeAttachments, { name })?.spec.nodeName === node
    ? allow
    : no(`no relationship found between node '${node}' and this object`);
}

function decideOwn(node: string, { verb, subresource, name }: Attributes, what: string): Decision {
  if (subresource) return no(`cannot access subresources of a ${what}`);
  if (!OWN.includes(verb) && !(READ.includes(verb) && name)) {
    return no(`can only get, create, update, patch, or delete a ${what}`);
  }
  if (verb !== 'create' && name !== node) {
    return no(`can only access a ${what} with the same name as the requesting node`);
  }
  return allow;
}

function decideNode(node: string, { verb, subresource = '', name }: Attributes): Decision {
  if (subresource === 'status' && ['update', 'patch'].includes(verb)) return allow;
  if (subresource === '' && ['create', 'update', 'patch'].includes(verb)) return allow;
  if (subresource !== '' || !READ.includes(verb)) return { decision: 'no-opinion' };
  if (name === node) return allow;
  return no(`node '${node}' cannot read ${name ? `'${name}'` : 'all nodes'}, only its own Node object`);
}

function decidePod(node: string, attributes: Attributes, { reader }: Context): Decision {
  const { verb, subresource = '', namespace, name, fieldSelector } = attributes;
  const isOnNode = () =>
    name !== undefined &&
    namespace !== undefined &&
    reader.get(pods, { namespace, name })?.spec.nodeName === node;
  if (subresource === 'status')
    return ['update', 'patch'].includes(verb) ? allow : { decision: 'no-opinion' };
  if (subresource === 'eviction') return verb === 'create' ? allow : { decision: 'no-opinion' };
  if (subresource !== '') return { decision: 'no-opinion' };
  switch (verb) {
    case 'get':
      return isOnNode() ? allow : no(`no relationship found between node '${node}' and this object`);
    case 'list':
    case 'watch':
      if (selectsOnly(fieldSelector, 'spec.nodeName', node) || isOnNode()) return allow;
      return no('can only list/watch pods with spec.nodeName field selector');
    case 'create':
    case 'delete':
      return allow;
  }
  return { decision: 'no-opinion' };
}

function selectsOnly(fieldSelector: string | undefined, field: string, value: string): boolean {
  if (!fieldSelector) return false;
  try {
    return parseFieldSelector(fieldSelector).some(
      (each) => each.equals && each.field === field && each.value === value,
    );
  } catch {
    return false;
  }
}
