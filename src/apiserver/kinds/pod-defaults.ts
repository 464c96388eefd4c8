// Defaults of pods and pod templates. The values are Kubernetes'.

import { ensureMap, type LooseMap, mapOf, mapsOf, setDefault, stringOf } from './loose.ts';

/** Octal 0644. */
const FILE_MODE = 0o644;

export function setPodSpecDefaults(spec: LooseMap): void {
  setDefault(spec, 'restartPolicy', 'Always');
  setDefault(spec, 'terminationGracePeriodSeconds', 30);
  setDefault(spec, 'dnsPolicy', 'ClusterFirst');
  setDefault(spec, 'schedulerName', 'default-scheduler');
  ensureMap(spec, 'securityContext');
  // Both fields of the service account name are kept equal; the newer one wins.
  const account = stringOf(spec.serviceAccountName) || stringOf(spec.serviceAccount);
  if (account && (spec.serviceAccountName !== account || spec.serviceAccount !== account)) {
    Object.assign(spec, { serviceAccountName: account, serviceAccount: account });
  }
  for (const volume of mapsOf(spec.volumes)) setVolumeDefaults(volume);
  for (const field of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const container of mapsOf(spec[field])) setContainerDefaults(container);
  }
}

/** Pods only: limits default the requests, and on the host's network ports are the host's. Templates are not changed. */
export function setPodRequestDefaults(spec: LooseMap): void {
  for (const field of ['containers', 'initContainers']) {
    for (const container of mapsOf(spec[field])) {
      for (const port of spec.hostNetwork === true ? mapsOf(container.ports) : []) {
        if (port.containerPort !== undefined) setDefault(port, 'hostPort', port.containerPort);
      }
      const limits = mapOf(mapOf(container.resources)?.limits);
      if (!limits) continue;
      const requests = ensureMap(ensureMap(container, 'resources'), 'requests');
      for (const [resource, amount] of Object.entries(limits)) setDefault(requests, resource, amount);
    }
  }
}

function setContainerDefaults(container: LooseMap): void {
  setDefault(container, 'terminationMessagePath', '/dev/termination-log');
  setDefault(container, 'terminationMessagePolicy', 'File');
  setDefault(
    container,
    'imagePullPolicy',
    pullsLatest(stringOf(container.image)) ? 'Always' : 'IfNotPresent',
  );
  ensureMap(container, 'resources');
  for (const port of mapsOf(container.ports)) {
    setDefault(port, 'protocol', 'TCP');
  }
  for (const variable of mapsOf(container.env)) {
    const reference = mapOf(mapOf(variable.valueFrom)?.fieldRef);
    if (reference) setDefault(reference, 'apiVersion', 'v1');
  }
  for (const field of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = mapOf(container[field]);
    if (probe) setProbeDefaults(probe);
  }
  const lifecycle = mapOf(container.lifecycle);
  for (const hook of [lifecycle?.postStart, lifecycle?.preStop]) setHttpDefaults(mapOf(mapOf(hook)?.httpGet));
}

function pullsLatest(image: string): boolean {
  if (image.includes('@')) return false;
  const tag = /:([^/:]+)$/.exec(image)?.[1];
  return tag === undefined || tag === 'latest';
}

function setProbeDefaults(probe: LooseMap): void {
  setDefault(probe, 'timeoutSeconds', 1);
  setDefault(probe, 'periodSeconds', 10);
  setDefault(probe, 'successThreshold', 1);
  setDefault(probe, 'failureThreshold', 3);
  setHttpDefaults(mapOf(probe.httpGet));
  const grpc = mapOf(probe.grpc);
  if (grpc) setDefault(grpc, 'service', '');
}

function setHttpDefaults(get: LooseMap | undefined): void {
  if (!get) return;
  setDefault(get, 'path', '/');
  setDefault(get, 'scheme', 'HTTP');
}

function setVolumeDefaults(volume: LooseMap): void {
  if (Object.keys(volume).every((field) => field === 'name')) volume.emptyDir = {};
  for (const field of ['secret', 'configMap', 'downwardAPI', 'projected']) {
    const source = mapOf(volume[field]);
    if (source) setDefault(source, 'defaultMode', FILE_MODE);
  }
  const hostPath = mapOf(volume.hostPath);
  if (hostPath) setDefault(hostPath, 'type', '');
  const items = [
    ...mapsOf(mapOf(volume.downwardAPI)?.items),
    ...mapsOf(mapOf(volume.projected)?.sources).flatMap((source) => mapsOf(mapOf(source.downwardAPI)?.items)),
  ];
  for (const item of items) {
    const reference = mapOf(item.fieldRef);
    if (reference) setDefault(reference, 'apiVersion', 'v1');
  }
  for (const source of mapsOf(mapOf(volume.projected)?.sources)) {
    const token = mapOf(source.serviceAccountToken);
    if (token) setDefault(token, 'expirationSeconds', 3600);
  }
  const template = mapOf(mapOf(volume.ephemeral)?.volumeClaimTemplate);
  if (template) setDefault(ensureMap(template, 'spec'), 'volumeMode', 'Filesystem');
}
