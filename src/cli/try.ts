// `berth try`: one volume's whole life on a driver, in a temporary cluster; pass or fail for each step.

import { type StorageClass, storageClasses } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import { askAbilities, subjectOf } from '../check/driver-under-test.ts';
import { createReport, reportFormats } from '../check/report/reporter.ts';
import type { ClusterDriver } from '../cluster/cluster-driver.ts';
import type { Cluster } from '../cluster/start-cluster.ts';
import { startTemporaryCluster } from '../cluster/temporary-cluster.ts';
import { choiceFlag, durationFlag, stringFlag } from '../runtime/flags/flag.ts';
import { silentLog } from '../runtime/log/log.ts';
import { quietLog } from '../runtime/log/quiet-log.ts';
import { checkUser } from '../runtime/mount/tried-mounter.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { runTry } from '../try/run-try.ts';
import { defineCommand, ExitCode, UsageError } from './command.ts';
import { withConnections } from './driver-connections.ts';
import { checkRootlessDrivers, driverFlags, nodesOfDrivers } from './driver-flags.ts';
import { resourceOfManifest } from './objects/find-resource.ts';
import { type Manifest, readManifests } from './objects/read-manifests.ts';
import { enterNamespace, rootlessFlag } from './rootless.ts';
import { sizeFlag } from './size-flag.ts';
import { packageVersion } from './version.ts';

/** Without a driver of the user's: two, so that a volume can move. */
const HOSTPATH_NODES = 2;
/** For the questions before the first step. */
const ASK_MS = 10_000;

const flags = {
  ...driverFlags,
  class: stringFlag({
    help:
      'Manifest with the StorageClass to use, and with what it needs: Secrets, a VolumeSnapshotClass. Without it, a class ' +
      'with --class-parameters',
  }),
  size: sizeFlag('Size of the volume, in bytes or as in 1Gi; it is doubled by the expansion'),
  'access-mode': choiceFlag({
    help: 'Access mode of the volume',
    choices: ['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod'],
    default: 'ReadWriteOnce',
  }),
  rootless: rootlessFlag,
  timeout: durationFlag({ help: 'Time-out of each step', default: 60_000, min: 1_000 }),
  output: choiceFlag({ help: 'Output format (also -o)', choices: reportFormats, default: 'text' }),
  o: choiceFlag({ help: 'Same as --output', choices: reportFormats, default: 'text', hidden: true }),
};

export const command = defineCommand({
  summary: "Tries a driver: one volume's whole life in a temporary cluster, pass or fail for each step",
  description:
    'Creates a volume with your driver, attaches, stages and publishes it, writes and reads, expands, snapshots, restores, ' +
    'clones, moves it to another node and deletes everything. Steps that need a capability that the driver does not have are ' +
    'skipped. Without --driver and --exec the hostpath driver is tried. Nothing is left, also after Ctrl-C. ' +
    'Exit code 0 when no step failed. Needs root, for mounts, or --rootless. ' +
    "Example: `berth try --exec './my-driver --endpoint=$CSI_ENDPOINT --nodeid=$NODE_ID' -o junit > try.xml`.",
  flags,
  async run({ flags: values, signal, log, stdout, stderr, env }) {
    if (values.driver.length > 1) throw new UsageError('--driver: one driver is tried at a time');
    if (values.rootless) {
      checkRootlessDrivers(values);
      enterNamespace(env);
    }
    checkUser();
    const manifests = values.class === undefined ? [] : await readManifests(values.class, process.stdin);
    const ports = { clock: realClock, random: realRandom, log: quietLog(log), signal };
    const report = createReport(values.o === 'text' ? values.output : values.o, 'berth try', (text) =>
      stdout.write(text),
    );
    const running = await startTemporaryCluster({
      ...ports,
      // The report says what went wrong; what the parts log about it would be the same again.
      partsLog: values.v > 0 ? ports.log : silentLog,
      sockets: values.driver,
      commands: values.exec,
      classParameters: values.classParameters,
      isRootless: values.rootless,
      version: await packageVersion(),
      nodeCount: nodesOfDrivers(values) ?? HOSTPATH_NODES,
    });
    const { cluster } = running;
    try {
      const [driver] = cluster.drivers;
      if (driver === undefined) throw new Error('the cluster has no driver');
      await withConnections(driver, async (transports) => {
        const can = await askAbilities(transports, ASK_MS, signal);
        report.begin(await subjectOf(transports, can, { timeoutMs: ASK_MS, signal }));
        await runTry({
          ...ports,
          cluster,
          driver,
          can,
          ...(await applyClass(cluster, driver, manifests)),
          accessMode: values.accessMode,
          sizeBytes: values.size,
          controller: transports.controller,
          timeoutMs: values.timeoutMs,
          report,
        });
      });
    } catch (error) {
      if (!signal.aborted) throw error;
      stderr.write('berth try: interrupted\n');
    } finally {
      const left = await running.stop();
      const tested = { group: 'End', title: 'nothing is left' };
      const why = 'what was created could not be deleted again';
      if (left.length > 0) report.add(tested, { state: 'failed', ms: 0, why, left });
    }
    const isWell = report.end();
    return isWell && !signal.aborted ? ExitCode.ok : ExitCode.failed;
  },
});

/** Creates the objects of `--class`; the class is the first StorageClass in it, or else the one that Berth made. */
async function applyClass(
  { server }: Cluster,
  driver: ClusterDriver,
  manifests: readonly Manifest[],
): Promise<{ storageClass: StorageClass; snapshotClass?: string }> {
  const kube = server.client(server.adminUser);
  const created: KubeObject[] = [];
  const { resources: served } = await kube.servedResources();
  for (const { origin, object } of manifests) {
    const resource = resourceOfManifest(served, object);
    if (resource === undefined) throw new UsageError(`${origin}: ${object.kind} is not a known kind`);
    const namespace = object.metadata.namespace ?? 'default';
    const metadata = { ...object.metadata, ...(resource.namespaced && { namespace }) };
    created.push(await kube.create(resource, { ...object, metadata }));
  }
  const ofKind = (kind: string) => created.find((object) => object.kind === kind);
  const given = ofKind('StorageClass') as StorageClass | undefined;
  if (given !== undefined && given.provisioner !== driver.name) {
    throw new UsageError(
      `StorageClass ${given.metadata.name} is for ${given.provisioner}, and the driver is ${driver.name}`,
    );
  }
  const made = [...server.reader.list(storageClasses)].find(
    ({ provisioner, volumeBindingMode }) => provisioner === driver.name && volumeBindingMode === 'Immediate',
  );
  const storageClass = given ?? made;
  if (storageClass === undefined) {
    throw new Error(
      `${driver.name} does not have CREATE_DELETE_VOLUME: it creates no volumes, so there is none to try`,
    );
  }
  const snapshotClass = ofKind('VolumeSnapshotClass')?.metadata.name;
  return { storageClass, ...(snapshotClass !== undefined && { snapshotClass }) };
}
