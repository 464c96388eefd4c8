// `berth data-source-validator` as a process, against a real API server over HTTPS.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parse } from 'yaml';
import {
  customResourceDefinitions,
  events,
  persistentVolumeClaims,
  volumePopulators,
} from '../../src/api/kinds.ts';
import { sidecarRig } from '../../src/sidecars/testing/sidecar-rig.ts';
import { untilAny } from '../../src/sidecars/testing/until-any.ts';

test('[POP-1] a claim that nobody populates gets the official warning; one with a populator gets none', async (t) => {
  const rig = await sidecarRig(t);
  const file = new URL('../../deploy/crds/populator.storage.k8s.io_volumepopulators.yaml', import.meta.url);
  await rig.admin.create(customResourceDefinitions, parse(await readFile(file, 'utf8')));
  const make = (name: string, apiGroup: string) =>
    rig.admin.create(persistentVolumeClaims, {
      metadata: { name, namespace: 'default' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        dataSourceRef: { apiGroup, kind: 'Backup', name: 'monday' },
      },
    });
  await rig.admin.create(volumePopulators, {
    metadata: { name: 'backups' },
    sourceKind: { group: 'backup.example', kind: 'Backup' },
  });
  rig.spawnPlain('data-source-validator', [`--kubeconfig=${rig.kubeconfig}`]);
  await make('known', 'backup.example');
  await make('unknown', 'typo.example');
  const warning = await untilAny(rig.admin, events, ({ reason }) => reason === 'UnrecognizedDataSourceKind');
  assert.equal(warning.involvedObject.name, 'unknown');
  assert.match(warning.message ?? '', /Backup.typo.example matches no registered VolumePopulator/);
  assert.equal(warning.source?.component, 'volume-data-source-validator');
  // Claims that wait for a populator hear of its end.
  await rig.admin.delete(volumePopulators, { name: 'backups' });
  await untilAny(rig.admin, events, ({ involvedObject }) => involvedObject.name === 'known');
});
