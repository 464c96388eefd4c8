// Limits responses to what the driver claims: fields of an unclaimed feature are removed, and an unsupported capability
// is never confirmed, even if the driver's code did so. Pure.

import type { VolumeCapability } from '../csi/index.ts';
import { unsupported } from './capabilities.ts';
import type { Driver } from './driver.ts';

type Fields = Record<string, unknown>;
type Limit = (driver: Driver, response: Fields, request: Fields) => Fields;

export const responseLimits: Readonly<Record<string, Limit>> = {
  listVolumes: (driver, response) => ({
    ...response,
    entries: ((response.entries as Fields[] | undefined) ?? []).map((entry) => limitStatus(driver, entry)),
  }),
  controllerGetVolume: (driver, response) => limitStatus(driver, response),
  nodeGetVolumeStats: (driver, response) =>
    driver.features?.volumeCondition ? response : { ...response, volumeCondition: undefined },
  createVolume: (driver, response) => {
    if (driver.features?.topology) return response;
    return { ...response, volume: { ...(response.volume as Fields), accessibleTopology: [] } };
  },
  nodeGetInfo: (driver, response) =>
    driver.features?.topology ? response : { ...response, accessibleTopology: undefined },
  validateVolumeCapabilities: (driver, response, request) => {
    if (response.confirmed === undefined) return response;
    for (const capability of request.volumeCapabilities as VolumeCapability[]) {
      const problem = unsupported(driver, capability);
      if (problem !== undefined) return { message: problem };
    }
    return response;
  },
};

function limitStatus(driver: Driver, entry: Fields): Fields {
  const status = entry.status as Fields | undefined;
  if (status === undefined) return entry;
  return {
    ...entry,
    status: {
      ...(driver.features?.publishedNodes && { publishedNodeIds: status.publishedNodeIds ?? [] }),
      ...(driver.features?.volumeCondition && { volumeCondition: status.volumeCondition }),
    },
  };
}
