// `berth driver hostpath`: the reference driver as a separate process, with controller and node service on one socket.
// Prints `ready unix://SOCKET` once it serves.

import { isQuantity, quantityToBytes } from '../api/quantity.ts';
import { DEFAULT_MUTABLE_PARAMETERS } from '../driver/hostpath/controller/plan-volume.ts';
import { createHostpath } from '../driver/hostpath/create-hostpath.ts';
import {
  allCapabilities,
  DEFAULT_DRIVER_NAME,
  type HostpathCapabilities,
  type HostpathOptions,
} from '../driver/hostpath/options.ts';
import { serveDriver } from '../driver/serve-driver.ts';
import {
  choiceFlag,
  durationFlag,
  type FlagOptions,
  flagOf,
  InvalidValue,
  intFlag,
  mapFlag,
  stringFlag,
  stringsFlag,
} from '../runtime/flags/flag.ts';
import { secretValue } from '../runtime/log/secret-value.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import { openLinuxMounter } from '../runtime/mount/linux-mounter.ts';
import { serveHttpEndpoint } from '../runtime/process/http-endpoint.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand, UsageError } from './command.ts';
import { packageVersion } from './version.ts';

const capabilityNames = Object.keys(allCapabilities).map(kebabCase);

export const command = defineCommand({
  summary: 'Runs the reference CSI driver: directories and loop-backed images on this machine',
  description:
    'The parameter `backing` of a storage class chooses directory (a bind mount) or image (ext4 or xfs in a file, ' +
    'with a hard size limit; also raw block). Needs root, for mounts. Several processes may share one --state-dir: ' +
    'each is a separate node, and all see the same volumes.',
  arguments: { usage: 'hostpath', min: 1, max: 1 },
  flags: {
    endpoint: stringFlag({ help: 'Socket to serve on, unix:///path', required: true }),
    'node-id': stringFlag({ help: 'ID of this node', required: true, env: 'NODE_ID' }),
    'state-dir': stringFlag({ help: 'Directory of volumes, snapshots and records', required: true }),
    'driver-name': stringFlag({ help: 'Name of the driver', default: DEFAULT_DRIVER_NAME }),
    services: stringsFlag({
      help: 'Services to offer: controller, node or both',
      default: ['controller', 'node'],
    }),
    backing: choiceFlag({
      help: 'Backing of volumes whose storage class sets none',
      choices: ['directory', 'image'],
      default: 'directory',
    }),
    topology: mapFlag({
      help: 'Topology segments of this node; no topology if empty',
      group: 'Topology and limits',
    }),
    'max-volumes-per-node': intFlag({
      help: 'Limit of volumes published to this node at once; 0: no limit',
      default: 0,
      min: 0,
      group: 'Topology and limits',
    }),
    capacity: sizeFlag({
      help: 'Capacity for all volumes in each topology segment, such as 10Gi; default: the free disk space',
      group: 'Topology and limits',
    }),
    'max-volume-size': sizeFlag({ help: 'Largest volume, such as 1Ti', group: 'Topology and limits' }),
    without: stringsFlag({
      help: `Capabilities to turn off: ${capabilityNames.join(', ')}`,
      group: 'Imitating other drivers',
    }),
    'mutable-parameters': stringsFlag({
      help: 'Names that ControllerModifyVolume takes',
      default: DEFAULT_MUTABLE_PARAMETERS,
      group: 'Imitating other drivers',
    }),
    'require-secrets': mapFlag({
      help: 'Reject calls whose secrets lack these, to test credentials; visible in the process list',
      group: 'Imitating other drivers',
    }),
    'when-busy': choiceFlag({
      help: 'Concurrent calls on one volume: the second is aborted, or waits',
      choices: ['abort', 'wait'],
      default: 'abort',
      group: 'Imitating other drivers',
    }),
    'http-endpoint': stringFlag({
      help: 'Serve metrics and health on this host:port; not served if empty',
      default: '',
    }),
    'stop-timeout': durationFlag({
      help: 'Grace time for calls in flight when stopping',
      default: 10_000,
    }),
  },
  async run({ flags, args, signal, stdout, log }) {
    if (args[0] !== 'hostpath') throw new UsageError(`there is no driver ${args[0]}, only hostpath`);
    const isService = (name: string) => flags.services.includes(name);
    const unknown = flags.services.find((name) => name !== 'controller' && name !== 'node');
    if (unknown !== undefined) throw new UsageError(`--services: ${unknown} is not one of controller, node`);
    const settings: HostpathOptions = {
      driverName: flags.driverName,
      version: await packageVersion(),
      stateDir: flags.stateDir,
      backing: flags.backing,
      capabilities: without(flags.without),
      mutableParameters: flags.mutableParameters,
      ...(flags.capacity !== undefined && { capacityBytes: flags.capacity }),
      ...(flags.maxVolumeSize !== undefined && { maxVolumeBytes: flags.maxVolumeSize }),
      ...(Object.keys(flags.requireSecrets).length > 0 && {
        requiredSecrets: secretValue(flags.requireSecrets),
      }),
      clock: realClock,
      random: realRandom,
      log,
      mounter: await openLinuxMounter(),
    };
    const hostpath = await createHostpath(settings);
    const node = {
      nodeId: flags.nodeId,
      topology: flags.topology,
      maxVolumesPerNode: flags.maxVolumesPerNode,
    };
    const driver = hostpath.driver({
      controller: isService('controller'),
      ...(isService('node') && { node }),
    });
    const metrics = createMetrics();
    if (flags.httpEndpoint !== '') {
      await serveHttpEndpoint({ address: flags.httpEndpoint, metrics, log, signal });
    }
    const server = await serveDriver(driver, {
      endpoint: flags.endpoint,
      clock: realClock,
      log,
      metrics,
      whenBusy: flags.whenBusy,
    });
    stdout.write(`ready unix://${server.address}\n`);
    await aborted(signal);
    await server.stop(flags.stopTimeoutMs);
    hostpath.close();
  },
});

function sizeFlag(options: FlagOptions<bigint>) {
  return flagOf<bigint | undefined>(
    {
      type: 'size',
      parse: (text) => {
        if (!isQuantity(text) || quantityToBytes(text) <= 0n)
          throw new InvalidValue('must be a size such as 10Gi');
        return quantityToBytes(text);
      },
      format: String,
    },
    options,
  );
}

function without(names: readonly string[]): Partial<HostpathCapabilities> {
  const chosen: Partial<HostpathCapabilities> = {};
  for (const name of names) {
    const key = Object.keys(allCapabilities).find((candidate) => kebabCase(candidate) === name);
    if (key === undefined) {
      throw new UsageError(`--without: ${name} is not a capability; known are ${capabilityNames.join(', ')}`);
    }
    chosen[key as keyof HostpathCapabilities] = false;
  }
  return chosen;
}

function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
