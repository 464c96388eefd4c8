// The public API of the driver SDK, `berth/driver`: the parts of a driver, and the ports it uses.

export { openLinuxMounter } from '../runtime/mount/linux-mounter.ts';
export { memoryMounter } from '../runtime/mount/memory-mounter.ts';
export { MountError } from '../runtime/mount/mount-error.ts';
export type { Mounter } from '../runtime/mount/mounter.ts';
export { realRandom } from '../runtime/random.ts';
export { realClock } from '../runtime/time/clock.ts';
export { accessModeName } from './capabilities.ts';
export { chooseSize, type RequestedRange, roundUp, type SizeLimits, sizeFits } from './capacity.ts';
export {
  type AccessModeName,
  type CheckedRequest,
  type ControllerOperations,
  type Driver,
  type DriverCall,
  type DriverDefinition,
  type DriverFeatures,
  defineDriver,
  type GroupControllerOperations,
  type NodeOperations,
  type Secrets,
  type SnapshotMetadataOperations,
} from './driver.ts';
export { type DriverServicesOptions, driverServices } from './driver-services.ts';
export { type FilesystemTools, formatIfBlank, linuxFilesystemTools } from './filesystem/filesystem-tools.ts';
export { type FindOrCreate, findOrCreate } from './find-or-create.ts';
export { createHostpath, type Hostpath } from './hostpath/create-hostpath.ts';
export {
  DEFAULT_DRIVER_NAME,
  type HostpathCapabilities,
  type HostpathNodeOptions,
  type HostpathOptions,
} from './hostpath/options.ts';
export { processLocks } from './hostpath/state/host-locks.ts';
export { memoryFiles, memoryFilesystemTools } from './hostpath/state/memory-files.ts';
export { type KeyLocks, keyLocks } from './key-locks.ts';
export { type Page, type PageRequest, paginate } from './pagination.ts';
export { refuse } from './refuse.ts';
export { type RunDriverOptions, runDriver } from './run-driver.ts';
export { type ServeDriverOptions, serveDriver } from './serve-driver.ts';
export {
  type SimulatedDriver,
  type SimulatedFiles,
  type SimulatedProcess,
  type SimulatedStorage,
  type SimulatedVolume,
  simulatedDriver,
} from './simulated-driver.ts';
export { type Collection, openStateStore, type StateStore, UniqueError } from './state/state-store.ts';
