// The driver of driver.ts for `berth sim --driver-module`.

import { simulatedDriver } from '../../src/driver/index.ts';
import { memoryArray } from './disk-array.ts';
import { diskDriver } from './driver.ts';

export default simulatedDriver({
  storage: memoryArray,
  driver: ({ port, nodeName, mounter, files }) => diskDriver({ array: port, nodeName, mounter, files }),
});
