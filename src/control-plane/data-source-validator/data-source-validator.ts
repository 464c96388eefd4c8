// Tells the owners of claims whose data source nobody populates. Watches claims and VolumePopulators; writes Events only.

import { persistentVolumeClaims, volumePopulators } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { judgeSource } from './judge-source.ts';

const INVALID = 'data-source-validator/unbound-with-source';

export function createDataSourceValidator(ports: ControllerPorts, { workers = 10 } = {}): Controller {
  const { informers, recorder } = ports;
  const log = ports.log.with({ controller: 'data-source-validator' });
  const claims = informers.of(persistentVolumeClaims);
  const populators = informers.of(volumePopulators, { optional: true });
  claims.addIndex(INVALID, ({ spec }) => (spec.dataSourceRef && !spec.volumeName ? [''] : []));
  const judged = ports.metrics?.counter({
    name: 'volume_data_source_validator_operation_count',
    help: 'Number of validations operations by result',
    labelNames: ['result'],
  });

  const loop = createLoop({
    ...ports,
    log,
    name: 'pvc',
    workers,
    backoff: { startMs: 5, maxMs: 1_000_000 },
    async reconcile(key) {
      const claim = claims.get(key);
      if (claim === undefined) return done;
      const verdict = judgeSource(claim, populators.list());
      judged?.inc({ result: verdict });
      if (verdict !== 'invalid') return done;
      const { apiGroup, kind } = claim.spec.dataSourceRef ?? { kind: '' };
      const source = apiGroup ? `${kind}.${apiGroup}` : kind;
      log.v(2).info('No populator for the data source of a claim', { claim: key, source });
      recorder.event(
        claim,
        'Warning',
        'UnrecognizedDataSourceKind',
        `The data source ${source} matches no registered VolumePopulator, so nobody fills the volume; ` +
          'install its populator, or correct apiGroup and kind',
      );
      return done;
    },
  });

  return {
    name: 'data-source-validator',
    async run(signal) {
      if (!(await cachesSynced([claims, populators], signal))) return;
      const unsubscribes = [
        claims.subscribe({
          added: (claim) => loop.add(keyOf(claim)),
          updated: (before, claim) => {
            if (before.metadata.uid !== claim.metadata.uid) loop.add(keyOf(claim));
          },
        }),
        // A populator that goes leaves claims that wait for it.
        populators.subscribe({
          deleted: () => {
            for (const claim of claims.byIndex(INVALID, '')) loop.add(keyOf(claim));
          },
        }),
      ];
      try {
        await loop.run(signal);
      } finally {
        for (const unsubscribe of unsubscribes) unsubscribe();
      }
    },
  };
}
