// Checks that create and delete volumes.

import type { VolumeHandle } from '../csi/names/driver-name.ts';
import type { Check } from './check.ts';
import { expect, NOWHERE, refuses } from './driver-under-test.ts';

const MAKES = ['CREATE_DELETE_VOLUME'] as const;
const NO_ID = '' as VolumeHandle;

export const createChecks: readonly Check[] = [
  {
    group: 'CreateVolume',
    title: 'rejects a request without a name, or without a capability',
    section: 'createvolume-errors',
    needs: MAKES,
    async run(driver) {
      const { controller } = driver;
      await refuses('without a name', controller.createVolume(driver.createRequest('')), 'INVALID_ARGUMENT');
      const incapable = { ...driver.createRequest(driver.name('volume')), volumeCapabilities: [] };
      await refuses('without a capability', controller.createVolume(incapable), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'CreateVolume',
    title: 'creates a volume of at least the requested size',
    section: 'createvolume',
    needs: MAKES,
    async run(driver) {
      const { capacityBytes } = await driver.createVolume();
      const { sizeBytes } = driver.options;
      // 0: the driver does not know the size.
      expect(
        capacityBytes === 0n || capacityBytes >= sizeBytes,
        `requested ${sizeBytes} bytes, got ${capacityBytes}`,
      );
    },
  },
  {
    group: 'CreateVolume',
    title: 'is idempotent: the same name returns the same volume',
    section: 'createvolume',
    needs: MAKES,
    async run(driver) {
      const name = driver.name('volume');
      const first = await driver.createVolume(name);
      const again = await driver.createVolume(name);
      expect(
        first.volumeId === again.volumeId,
        `one name, two volumes: ${first.volumeId}, then ${again.volumeId}`,
      );
    },
  },
  {
    group: 'CreateVolume',
    title: 'rejects a name that is taken by a volume of another size',
    section: 'createvolume-errors',
    needs: MAKES,
    async run(driver) {
      const name = driver.name('volume');
      await driver.createVolume(name);
      const size = driver.options.sizeBytes * 2n;
      const larger = {
        ...driver.createRequest(name),
        capacityRange: { requiredBytes: size, limitBytes: size },
      };
      await refuses('twice the size', driver.controller.createVolume(larger), 'ALREADY_EXISTS');
    },
  },
  {
    group: 'CreateVolume',
    title: 'accepts a name of 128 bytes',
    section: 'size-limits',
    needs: MAKES,
    async run(driver) {
      await driver.createVolume(driver.name('volume').padEnd(128, 'x'));
    },
  },
  {
    group: 'CreateVolume',
    title: 'rejects a source that does not exist',
    section: 'createvolume-errors',
    needs: [...MAKES, 'CLONE_VOLUME'],
    async run(driver) {
      const volumeContentSource = { type: { case: 'volume' as const, value: { volumeId: NOWHERE } } };
      const request = { ...driver.createRequest(driver.name('volume')), volumeContentSource };
      await refuses('a clone of nothing', driver.controller.createVolume(request), 'NOT_FOUND');
    },
  },
  {
    group: 'CreateVolume',
    title: 'clones a volume',
    section: 'createvolume',
    needs: [...MAKES, 'CLONE_VOLUME'],
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      const volumeContentSource = { type: { case: 'volume' as const, value: { volumeId } } };
      const clone = await driver.createVolume(driver.name('clone'), { volumeContentSource });
      expect(clone.volumeId !== volumeId, 'the clone has the ID of its source');
    },
  },
  {
    group: 'DeleteVolume',
    title: 'rejects a request without an ID',
    section: 'deletevolume-errors',
    needs: MAKES,
    run: (driver) => refuses('without an ID', driver.deleteVolume(NO_ID), 'INVALID_ARGUMENT'),
  },
  {
    group: 'DeleteVolume',
    title: 'is idempotent, and succeeds for a volume that does not exist',
    section: 'deletevolume',
    needs: MAKES,
    async run(driver) {
      await driver.deleteVolume(NOWHERE);
      const { volumeId } = await driver.createVolume();
      await driver.deleteVolume(volumeId);
      await driver.deleteVolume(volumeId);
    },
  },
];
