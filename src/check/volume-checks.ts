// Checks that validate, list, read and expand volumes.

import type { VolumeHandle } from '../csi/names/driver-name.ts';
import type { Check } from './check.ts';
import { type DriverUnderTest, expect, NOWHERE, refuses } from './driver-under-test.ts';

const MAKES = ['CREATE_DELETE_VOLUME'] as const;
/** More pages than any driver needs. */
const MOST_PAGES = 10_000;

export const volumeChecks: readonly Check[] = [
  {
    group: 'ValidateVolumeCapabilities',
    title: 'rejects requests without an ID or a capability, and a volume that does not exist',
    section: 'validatevolumecapabilities-errors',
    needs: MAKES,
    async run(driver) {
      const { controller, options } = driver;
      const volumeCapabilities = [options.capability];
      const secrets = options.secrets('ControllerValidateVolumeCapabilitiesSecret');
      const ask = (request: object) => controller.validateVolumeCapabilities({ secrets, ...request });
      await refuses('without an ID', ask({ volumeId: '', volumeCapabilities }), 'INVALID_ARGUMENT');
      await refuses(
        'a volume that does not exist',
        ask({ volumeId: NOWHERE, volumeCapabilities }),
        'NOT_FOUND',
      );
      const { volumeId } = await driver.createVolume();
      await refuses('without a capability', ask({ volumeId, volumeCapabilities: [] }), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'ValidateVolumeCapabilities',
    title: 'confirms the capability that the volume was created with',
    section: 'validatevolumecapabilities',
    needs: MAKES,
    async run(driver) {
      const { volumeId, volumeContext } = await driver.createVolume();
      const { confirmed, message } = await driver.controller.validateVolumeCapabilities({
        volumeId,
        volumeContext,
        volumeCapabilities: [driver.options.capability],
        parameters: { ...driver.options.parameters },
        secrets: driver.options.secrets('ControllerValidateVolumeCapabilitiesSecret'),
      });
      expect(confirmed !== undefined, `the capability is not confirmed: ${message || 'no reason given'}`);
    },
  },
  {
    group: 'ListVolumes',
    title: 'lists a volume after it is created, and not after it is deleted',
    section: 'listvolumes',
    needs: [...MAKES, 'LIST_VOLUMES'],
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      expect((await listed(driver, 0)).includes(volumeId), `${volumeId} was created and is not listed`);
      await driver.deleteVolume(volumeId);
      expect(!(await listed(driver, 0)).includes(volumeId), `${volumeId} was deleted and is still listed`);
    },
  },
  {
    group: 'ListVolumes',
    title: 'lists each volume once with pages of one entry',
    section: 'listvolumes',
    needs: [...MAKES, 'LIST_VOLUMES'],
    async run(driver) {
      const made = [];
      for (let i = 0; i < 3; i++) made.push((await driver.createVolume()).volumeId);
      const found = await listed(driver, 1);
      for (const id of made) {
        const times = found.filter((each) => each === id).length;
        expect(times === 1, `${id} is listed ${times} times`);
      }
    },
  },
  {
    group: 'ListVolumes',
    title: 'rejects a starting token that it did not issue',
    section: 'listvolumes-errors',
    needs: ['LIST_VOLUMES'],
    run: ({ controller }) =>
      refuses(
        'a token that was not issued',
        controller.listVolumes({ startingToken: 'berth-check' }),
        'ABORTED',
      ),
  },
  {
    group: 'GetCapacity',
    title: 'does not answer with a negative number',
    section: 'getcapacity',
    needs: ['GET_CAPACITY'],
    async run({ controller, options }) {
      const { availableCapacity } = await controller.getCapacity({ parameters: { ...options.parameters } });
      expect(availableCapacity >= 0n, `${availableCapacity} bytes are available`);
    },
  },
  {
    group: 'ControllerGetVolume',
    title: 'returns a volume, and rejects one that does not exist',
    section: 'controllergetvolume',
    needs: [...MAKES, 'GET_VOLUME'],
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      const { volume } = await driver.controller.controllerGetVolume({ volumeId });
      expect(volume?.volumeId === volumeId, `asked for ${volumeId}, got ${volume?.volumeId}`);
      await refuses(
        'a volume that does not exist',
        driver.controller.controllerGetVolume({ volumeId: NOWHERE }),
        'NOT_FOUND',
      );
      await refuses('without an ID', driver.controller.controllerGetVolume({}), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'ControllerExpandVolume',
    title: 'rejects requests without an ID or a size, and a volume that does not exist',
    section: 'controllerexpandvolume-errors',
    needs: [...MAKES, 'EXPAND_VOLUME'],
    async run(driver) {
      const capacityRange = { requiredBytes: driver.options.sizeBytes, limitBytes: 0n };
      await refuses('without an ID', grow(driver, { volumeId: '', capacityRange }), 'INVALID_ARGUMENT');
      await refuses(
        'a volume that does not exist',
        grow(driver, { volumeId: NOWHERE, capacityRange }),
        'NOT_FOUND',
      );
      const { volumeId } = await driver.createVolume();
      await refuses('without a size', grow(driver, { volumeId }), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'ControllerExpandVolume',
    title: 'expands a volume, and is idempotent',
    section: 'controllerexpandvolume',
    needs: [...MAKES, 'EXPAND_VOLUME'],
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      const requiredBytes = driver.options.sizeBytes * 2n;
      const request = { volumeId, capacityRange: { requiredBytes, limitBytes: 0n } };
      const first = await grow(driver, request);
      expect(
        first.capacityBytes >= requiredBytes,
        `requested ${requiredBytes} bytes, got ${first.capacityBytes}`,
      );
      const again = await grow(driver, request);
      expect(
        again.capacityBytes === first.capacityBytes,
        `it has ${first.capacityBytes} bytes, then ${again.capacityBytes}`,
      );
    },
  },
];

function grow(driver: DriverUnderTest, request: object) {
  const { capability, secrets } = driver.options;
  return driver.controller.controllerExpandVolume({
    volumeCapability: capability,
    secrets: secrets('ControllerExpandVolumeSecret'),
    ...request,
  });
}

/** The IDs of all volumes, `maxEntries` to a page. */
export async function listed(
  { controller }: Pick<DriverUnderTest, 'controller'>,
  maxEntries: number,
): Promise<VolumeHandle[]> {
  const ids: VolumeHandle[] = [];
  let startingToken = '';
  for (let page = 0; page < MOST_PAGES; page++) {
    const { entries, nextToken } = await controller.listVolumes({ maxEntries, startingToken });
    expect(
      maxEntries === 0 || entries.length <= maxEntries,
      `a page of max_entries ${maxEntries} has ${entries.length} entries`,
    );
    ids.push(...entries.map(({ volume }) => (volume?.volumeId ?? '') as VolumeHandle));
    if (nextToken === '') return ids;
    startingToken = nextToken;
  }
  return expect(false, `the list does not end after ${MOST_PAGES} pages`) as never;
}
