import { validatePod } from './pod.ts';
import { type Body, rows } from './testing/rows.ts';

const labels = { app: 'web' };
const podSpec = { containers: [{ name: 'c', image: 'i' }] };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const volumes = (...given: Body[]) => ({ spec: { ...podSpec, volumes: given } });
const secretRef = { nodePublishSecretRef: { name: 's' } };
rows(validatePod, {}, [
  ['a volume without a name', volumes({ emptyDir: {} }), ['spec.volumes[0].name: Required value']],
  [
    'a volume with a name that is none',
    volumes({ name: 'A', emptyDir: {} }),
    ['spec.volumes[0].name: Invalid'],
  ],
  [
    'two volumes of one name',
    volumes({ name: 'v', emptyDir: {} }, { name: 'v', emptyDir: {} }),
    ['spec.volumes[1].name: Duplicate'],
  ],
  [
    'a volume of nothing',
    volumes({ name: 'v' }),
    ['spec.volumes[0]: Required value: must specify a volume type'],
  ],
  [
    'a volume of two things',
    volumes({ name: 'v', emptyDir: {}, hostPath: { path: '/x' } }),
    ['spec.volumes[0].hostPath: Forbidden'],
  ],
  [
    'a volume of a claim without a name',
    volumes({ name: 'v', persistentVolumeClaim: {} }),
    ['spec.volumes[0].persistentVolumeClaim.claimName: Required'],
  ],
  ['a volume of a secret', volumes({ name: 'v', secret: { secretName: 's', defaultMode: 0o777 } }), []],
  [
    'a volume of no secret',
    volumes({ name: 'v', secret: { defaultMode: -1 } }),
    ['spec.volumes[0].secret.secretName: Req', 'spec.volumes[0].secret.defaultMode: Inv'],
  ],
  ['a volume of a config map', volumes({ name: 'v', configMap: { name: 'c', defaultMode: 0 } }), []],
  [
    'a volume of no config map',
    volumes({ name: 'v', configMap: { defaultMode: 0o1000 } }),
    ['spec.volumes[0].configMap.name: Req', 'spec.volumes[0].configMap.defaultMode: Inv'],
  ],
  ['a directory', volumes({ name: 'v', hostPath: { path: '/a..b/c' } }), []],
  [
    'a directory out of its own',
    volumes({ name: 'v', hostPath: { path: '/a/../b' } }),
    ['spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain \'..\''],
  ],
  ['a limited scratch volume', volumes({ name: 'v', emptyDir: { sizeLimit: '1Gi' } }), []],
  [
    'a scratch volume of no limit that exists',
    volumes({ name: 'v', emptyDir: { sizeLimit: 'x' } }),
    ['spec.volumes[0].emptyDir.sizeLimit: Invalid'],
  ],
  [
    'NFS from nowhere',
    volumes({ name: 'v', nfs: {} }),
    ['spec.volumes[0].nfs.server: Req', 'spec.volumes[0].nfs.path: Req'],
  ],
  ['an inline volume', volumes({ name: 'v', csi: { driver: 'd.example', ...secretRef } }), []],
  [
    'an inline volume of nobody',
    volumes({ name: 'v', csi: { nodePublishSecretRef: { name: 'A' } } }),
    ['spec.volumes[0].csi.driver: Req', 'spec.volumes[0].csi.nodePublishSecretRef.name: Inv'],
  ],
  [
    'an ephemeral volume',
    volumes({
      name: 'v',
      ephemeral: { volumeClaimTemplate: { metadata: { labels, annotations: {} }, spec: claim } },
    }),
    [],
  ],
  [
    'an ephemeral volume of nothing',
    volumes({ name: 'v', ephemeral: {} }),
    ['spec.volumes[0].ephemeral.volumeClaimTemplate: Required'],
  ],
  [
    'an ephemeral volume with a name of its own',
    volumes({ name: 'v', ephemeral: { volumeClaimTemplate: { metadata: { name: 'x' }, spec: claim } } }),
    ['spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden'],
  ],
]);
