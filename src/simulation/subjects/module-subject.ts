// A driver of a module in place of the drawn ones: its abilities are read from the driver that it makes.

import { type Driver, defineDriver } from '../../driver/driver.ts';
import { driverServices } from '../../driver/driver-services.ts';
import type { SimulatedDriver } from '../../driver/simulated-driver.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { memoryMounter } from '../../runtime/mount/memory-mounter.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import type { Subject } from '../driver-backend.ts';
import { memoryFiles } from '../memory-files.ts';
import type { DriverPlan, Lack } from '../plan.ts';
import { DriverModuleError, textOf } from './load-driver-module.ts';
import { filesOf, ModuleBackend } from './module-backend.ts';

/** `path` is for messages. */
export function moduleSubject(definition: SimulatedDriver<object>, path: string): Subject {
  const abilities = abilitiesOf(definition, path);
  return {
    plan: ({ short, replicas }) => ({ short, replicas, ...abilities }),
    backend: (init) => new ModuleBackend(init, definition),
  };
}

function abilitiesOf(
  definition: SimulatedDriver<object>,
  path: string,
): Omit<DriverPlan, 'short' | 'replicas'> {
  const {
    controller,
    features = {},
    name,
    accessTypes = ['mount'],
    accessModes,
  } = tried(definition, path, undefined);
  const { node } = tried(definition, path, 'n1');
  if (!controller?.createVolume || !node) {
    throw new DriverModuleError(
      `${path} cannot be simulated: the users of a simulated cluster begin with a claim and end with a pod, so the driver needs ` +
        `createVolume in the controller's process and node operations in a node's; it has ${controller?.createVolume ? 'no node operations' : 'no createVolume'}`,
    );
  }
  const lacks: Lack[] = [
    'existing volumes',
    'storage faults',
    ...(accessTypes.includes('block') ? [] : (['block volumes'] as const)),
    ...(accessModes && !accessModes.includes('MULTI_NODE_MULTI_WRITER') ? (['shared volumes'] as const) : []),
  ];
  return {
    name,
    attaches: controller.controllerPublishVolume !== undefined,
    stages: node.nodeStageVolume !== undefined,
    topology: features.topology ?? false,
    lists: controller.listVolumes !== undefined,
    ephemeral: false,
    lacks,
    ...(controller.controllerExpandVolume && { expands: node.nodeExpandVolume ? 'node' : 'controller' }),
  };
}

/** Made once before any run, so that what is wrong with it is said at once. */
function tried(definition: SimulatedDriver<object>, path: string, nodeName: string | undefined): Driver {
  const clock = new VirtualClock();
  const random = seededRandom('trial');
  const mounter = memoryMounter();
  try {
    const { port, volumes } = definition.storage({ clock, random });
    if (typeof port !== 'object' || typeof volumes !== 'function')
      throw new TypeError('storage() is to return { port, volumes }');
    const files = filesOf(memoryFiles(mounter));
    const driver = definition.driver({
      port,
      nodeName,
      segments: {},
      mounter,
      files,
      clock,
      random,
      log: silentLog,
    });
    driverServices(defineDriver(driver), { log: silentLog });
    return driver;
  } catch (error) {
    const where = nodeName === undefined ? "the controller's process" : "a node's process";
    throw new DriverModuleError(`${path} does not start ${where}: ${textOf(error)}`, error);
  }
}
