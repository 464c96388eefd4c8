// Which changes make the resizer look at a claim, and which do not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes, volumeAttributesClasses } from '../../api/kinds.ts';
import type { Resource } from '../../api/object.ts';
import { ANN_PRE_RESIZE_CAPACITY } from '../../api/well-known.ts';
import { type Change, changesOf, DRIVER, wokenBy } from '../testing/wakes.ts';
import { createResizer } from './resizer.ts';
import { DEFAULT_RESIZER_FLAGS } from './resizer-flags.ts';

const SIZE = `${DRIVER}-pvc`;
const CLASS = `${DRIVER}-pvc-modify`;
const noted = { annotations: { [ANN_PRE_RESIZE_CAPACITY]: '1Gi' } };

interface Parts {
  metadata?: object;
  spec?: object;
  status?: object;
}
/** Bound and as large as it should be, unless told otherwise. */
const claim = ({ metadata, spec, status }: Parts = {}) => ({
  metadata: { name: 'c', namespace: 'ns', uid: 'u', ...metadata },
  spec: { volumeName: 'pv', resources: { requests: { storage: '1Gi' } }, ...spec },
  status: { phase: 'Bound', capacity: { storage: '1Gi' }, ...status },
});
const larger = { resources: { requests: { storage: '2Gi' } } };
const refused = (resourceVersion: string) =>
  claim({
    metadata: { resourceVersion },
    spec: larger,
    status: { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } },
  });
const classed = { volumeAttributesClassName: 'gold' };
const pv = ({ metadata, spec }: Parts = {}) => ({
  metadata: { name: 'pv', ...metadata },
  spec: { csi: { driver: DRIVER, volumeHandle: 'h' }, claimRef: { namespace: 'ns', name: 'c' }, ...spec },
});
const claims = changesOf(persistentVolumeClaims);
const volumes = changesOf(persistentVolumes);
const classes = changesOf(volumeAttributesClasses);
const gold = { metadata: { name: 'gold' } };
const retry = { annotations: { 'csi.berth/retry': 'now' } };

type Cached = [Resource, object][];
const rows: [name: string, change: Change, woken: string[], cached?: Cached][] = [
  ['a claim that is large enough', claims(undefined, claim()), []],
  ['a claim that asks for more', claims(undefined, claim({ spec: larger })), [SIZE]],
  ['a claim that asks for a class', claims(undefined, claim({ spec: classed })), [CLASS]],
  ['a larger request', claims(claim(), claim({ spec: larger })), [SIZE]],
  [
    'a label of a claim that asks for more',
    claims(claim({ spec: larger }), claim({ spec: larger, metadata: { labels: { a: 'b' } } })),
    [],
  ],
  [
    'a retry that is asked for',
    claims(claim({ spec: larger }), claim({ spec: larger, metadata: retry })),
    [SIZE],
  ],
  [
    'an expansion that the node refused again while the watch was silent',
    claims(refused('1'), refused('5')),
    [SIZE],
  ],
  ['a phase', claims(claim({ spec: larger, status: { phase: 'Pending' } }), claim({ spec: larger })), [SIZE]],
  ['another class', claims(claim(), claim({ spec: classed })), [CLASS]],
  [
    'a modification that goes on',
    claims(
      claim({ spec: classed }),
      claim({
        spec: classed,
        status: { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } },
      }),
    ),
    [CLASS],
  ],
  ['the end of a claim', claims(claim({ spec: larger }), undefined), []],
  [
    'the volume of a claim that asks for more',
    volumes(undefined, pv()),
    [SIZE],
    [[persistentVolumeClaims, claim({ spec: larger })]],
  ],
  [
    'the volume of a claim that is large enough',
    volumes(undefined, pv()),
    [],
    [[persistentVolumeClaims, claim()]],
  ],
  [
    'another driver’s volume',
    volumes(undefined, pv({ spec: { csi: { driver: 'other' } } })),
    [],
    [[persistentVolumeClaims, claim({ spec: larger })]],
  ],
  [
    'a volume without a claim',
    volumes(undefined, pv({ spec: { claimRef: undefined } })),
    [],
    [[persistentVolumeClaims, claim({ spec: larger })]],
  ],
  [
    'a volume that is noted as growing',
    volumes(pv(), pv({ metadata: noted })),
    [SIZE],
    [[persistentVolumeClaims, claim()]],
  ],
  [
    'a volume that is bound to a claim which asks for more',
    volumes(pv(), pv({ spec: { claimRef: { namespace: 'ns', name: 'c', uid: 'u' } } })),
    [SIZE],
    [[persistentVolumeClaims, claim({ spec: larger })]],
  ],
  [
    'a volume that was noted before',
    volumes(pv({ metadata: noted }), pv({ metadata: { ...noted, labels: { a: 'b' } } })),
    [],
    [[persistentVolumeClaims, claim()]],
  ],
  [
    'a volume that is not noted any more',
    volumes(pv({ metadata: noted }), pv()),
    [],
    [[persistentVolumeClaims, claim({ spec: larger })]],
  ],
  [
    'the class that a claim asks for',
    classes(undefined, gold),
    [CLASS],
    [[persistentVolumeClaims, claim({ spec: classed })]],
  ],
  ['a class that nobody asks for', classes(undefined, gold), [], [[persistentVolumeClaims, claim()]]],
  [
    'a class that a claim has',
    classes(undefined, gold),
    [],
    [
      [
        persistentVolumeClaims,
        claim({ spec: classed, status: { currentVolumeAttributesClassName: 'gold' } }),
      ],
    ],
  ],
];
const flags = {
  ...DEFAULT_RESIZER_FLAGS,
  workers: 1,
  featureGates: { ...DEFAULT_RESIZER_FLAGS.featureGates, VolumeAttributesClass: true },
};
for (const [name, change, woken, cached = []] of rows) {
  test(`the resizer: ${name} wakes ${woken.join(', ') || 'nothing'}`, async (t) => {
    const found = await wokenBy(t, (ports) => createResizer(ports, flags), {
      change,
      cached,
      capabilities: ['EXPAND_VOLUME', 'MODIFY_VOLUME'],
    });
    assert.deepEqual(found, woken);
  });
}

const starts: [name: string, cached: Cached, woken: string[]][] = [
  [
    'a claim that is large enough, with its volume',
    [
      [persistentVolumeClaims, claim()],
      [persistentVolumes, pv()],
    ],
    [],
  ],
  ['a claim that asks for more', [[persistentVolumeClaims, claim({ spec: larger })]], [SIZE]],
  [
    'a claim whose volume is noted',
    [
      [persistentVolumeClaims, claim()],
      [persistentVolumes, pv({ metadata: noted })],
    ],
    [SIZE],
  ],
];
for (const [name, cached, woken] of starts) {
  test(`the resizer: at its start ${name} wakes ${woken.join(', ') || 'nothing'}`, async (t) => {
    const capabilities = ['EXPAND_VOLUME', 'MODIFY_VOLUME'] as const;
    const found = await wokenBy(t, (ports) => createResizer(ports, flags), { cached, capabilities });
    assert.deepEqual(found, woken);
  });
}
