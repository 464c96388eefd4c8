// What a container may not say of its probes, hooks, environment, security and mounts.

import { getOwn } from '../../api/own-property.ts';
import { type LooseMap, mapOf, mapsOf } from '../kinds/loose.ts';
import { at, type Checks, forbidden, invalid, required } from './checks.ts';

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];
const PROBE_HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc'];
const HOOK_HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'sleep'];
const PROBE_NUMBERS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
];
/** What the environment of a container may name of its pod. */
const ENVIRONMENT_FIELDS =
  /^(?:metadata\.(?:name|namespace|uid)|spec\.(?:nodeName|serviceAccountName)|status\.(?:hostIPs?|podIPs?)|metadata\.(?:labels|annotations)\['[^']+'\])$/;

export function checkContainerRules(checks: Checks, path: string, container: LooseMap): void {
  for (const name of PROBES) {
    const probe = mapOf(container[name]);
    if (probe) checkProbe(checks, `${path}.${name}`, probe);
  }
  const lifecycle = mapOf(container.lifecycle) ?? {};
  for (const name of ['postStart', 'preStop']) {
    const hook = mapOf(lifecycle[name]);
    if (hook) checkHandler(checks, `${path}.lifecycle.${name}`, hook, HOOK_HANDLERS);
  }
  checks.oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'FallbackToLogsOnError',
    'File',
  ]);
  checkSecurity(checks, `${path}.securityContext`, mapOf(container.securityContext) ?? {});
  checkEnvironment(checks, `${path}.env`, container.env);
  checkMounts(checks, path, container);
}

function checkProbe(checks: Checks, path: string, probe: LooseMap): void {
  checkHandler(checks, path, probe, PROBE_HANDLERS);
  for (const field of PROBE_NUMBERS) checks.nonNegative(`${path}.${field}`, probe[field]);
}

function checkHandler(checks: Checks, path: string, handler: LooseMap, kinds: readonly string[]): void {
  const given = kinds.filter((kind) => mapOf(getOwn(handler, kind)) !== undefined);
  if (given.length === 0) checks.add(required(path, 'must specify a handler type'));
  for (const extra of given.slice(1)) {
    checks.add(forbidden(`${path}.${extra}`, 'may not specify more than 1 handler type'));
  }
}

function checkSecurity(checks: Checks, path: string, security: LooseMap): void {
  if (security.privileged === true && security.allowPrivilegeEscalation === false) {
    checks.add(
      invalid(path, security, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'),
    );
  }
}

function checkEnvironment(checks: Checks, path: string, variables: unknown): void {
  for (const [index, { valueFrom }] of mapsOf(variables).entries()) {
    const reference = mapOf(mapOf(valueFrom)?.fieldRef);
    if (!reference) continue;
    const field = `${at(path, index)}.valueFrom.fieldRef.fieldPath`;
    if (!checks.required(field, reference.fieldPath)) continue;
    if (!ENVIRONMENT_FIELDS.test(String(reference.fieldPath))) {
      checks.add(
        invalid(field, reference.fieldPath, 'error converting fieldPath: field label not supported'),
      );
    }
  }
}

function checkMounts(checks: Checks, path: string, container: LooseMap): void {
  const isPrivileged = mapOf(container.securityContext)?.privileged === true;
  for (const [index, mount] of mapsOf(container.volumeMounts).entries()) {
    if (mount.mountPropagation === 'Bidirectional' && !isPrivileged) {
      checks.add(
        forbidden(
          `${path}.volumeMounts.mountPropagation`,
          'Bidirectional mount propagation is available only to privileged containers',
        ),
      );
    }
    if (mount.subPath && mount.subPathExpr) {
      checks.add(
        invalid(
          `${at(`${path}.volumeMounts`, index)}.subPathExpr`,
          mount.subPathExpr,
          'subPathExpr and subPath are mutually exclusive',
        ),
      );
    }
  }
}
