// The initial objects of a cluster: Berth's CRDs and roles, and each driver's CSIDriver object and classes. Missing ones are
// created; changed ones are left alone, except CRDs of an older Berth, which are updated.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import {
  type CSIDriver,
  type CustomResourceDefinition,
  csiDrivers,
  customResourceDefinitions,
  type StorageClass,
  storageClasses,
  type VolumeGroupSnapshotClass,
  type VolumeSnapshotClass,
  volumeGroupSnapshotClasses,
  volumeSnapshotClasses,
} from '../api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../api/object.ts';
import { sameJson } from '../api/same-json.ts';
import {
  ANN_DEFAULT_CLASS,
  ANN_DEFAULT_GROUP_SNAPSHOT_CLASS,
  ANN_DEFAULT_SNAPSHOT_CLASS,
  ANN_INLINE_HANDLES,
} from '../api/well-known.ts';
import { bootstrapSteps } from '../apiserver/bootstrap/bootstrap-objects.ts';
import { isEstablished } from '../apiserver/crd/definition-status.ts';
import type { ApiServer } from '../apiserver/index.ts';
import type { DriverName } from '../csi/names/driver-name.ts';
import { publishedRbac, type RbacComponent } from '../manifests/published-rbac.ts';

/** Of the file a definition came from. */
const ANN_DEFINITION_DIGEST = 'csi.berth/definition-digest';

const definitions = new URL('../../deploy/crds/', import.meta.url);

export interface ClassesOfDriver {
  /** Of the class that binds at once; the one that waits for a pod has `-delayed` behind it. */
  name: string;
  provisioner: DriverName;
  isDefault: boolean;
  canExpand: boolean;
  parameters?: Readonly<Record<string, string>>;
}

function classesOfDriver({
  name,
  provisioner,
  isDefault,
  canExpand,
  parameters = {},
}: ClassesOfDriver): Draft<StorageClass>[] {
  const common = {
    provisioner,
    reclaimPolicy: 'Delete',
    allowVolumeExpansion: canExpand,
    ...(Object.keys(parameters).length > 0 && { parameters: { ...parameters } }),
  };
  return [
    {
      ...common,
      metadata: { name, ...(isDefault && { annotations: { [ANN_DEFAULT_CLASS]: 'true' } }) },
      volumeBindingMode: 'Immediate',
    },
    { ...common, metadata: { name: `${name}-delayed` }, volumeBindingMode: 'WaitForFirstConsumer' },
  ];
}

/** hostpath takes both kinds of volumes and shows in its calls which pod they are for. */
export function hostpathObject(name: string, options: { inlineHandles: boolean }): Draft<CSIDriver> {
  return {
    metadata: { name, ...inlineHandles(options) },
    spec: {
      attachRequired: true,
      podInfoOnMount: true,
      volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      fsGroupPolicy: 'File',
    },
  } as Draft<CSIDriver>;
}

/** The annotation of a driver whose volumes pods may name by their handle. */
export function inlineHandles(options: { inlineHandles: boolean }): { annotations?: Record<string, string> } {
  return options.inlineHandles ? { annotations: { [ANN_INLINE_HANDLES]: 'allowed' } } : {};
}

type Server = Pick<ApiServer, 'client' | 'adminUser' | 'reader'>;

export async function installRoles(server: Server, components: readonly RbacComponent[]): Promise<void> {
  const admin = server.client(server.adminUser);
  const wanted = await publishedRbac({ components });
  const steps = bootstrapSteps(server.reader, wanted);
  await Promise.all(
    steps.map(({ operation, resource, object }) => admin[operation](resource, object as never)),
  );
}

async function installMissing<T extends KubeObject>(
  server: Server,
  resource: Resource<T>,
  objects: readonly Draft<T>[],
): Promise<void> {
  const admin = server.client(server.adminUser);
  const missing = objects.filter(
    ({ metadata: { name = '' } }) => server.reader.get(resource, { name }) === undefined,
  );
  await Promise.all(missing.map((object) => admin.create(resource, object)));
}

/** Resolves with the names of existing classes whose parameters are others; those classes stay as they are. */
export async function installClasses(server: Server, classes: ClassesOfDriver): Promise<string[]> {
  const wanted = classesOfDriver(classes);
  const differing = wanted.flatMap(({ metadata: { name = '' }, parameters = {} }) => {
    const present = server.reader.get(storageClasses, { name });
    return present && !sameJson(present.parameters ?? {}, parameters) ? [name] : [];
  });
  await installMissing(server, storageClasses, wanted);
  if (classes.isDefault) await moveDefault(server, classes.name);
  return differing;
}

/**
 * The default moves to this class from another that Berth created in an earlier run, so that it follows `--driver`. A
 * default that a user gave to another class, or took away, stays.
 */
async function moveDefault(server: Server, name: string): Promise<void> {
  const isDefault = ({ metadata }: StorageClass): boolean =>
    metadata.annotations?.[ANN_DEFAULT_CLASS] === 'true';
  const former = [...server.reader.list(storageClasses)].filter(
    (each) =>
      isDefault(each) &&
      each.metadata.name !== name &&
      (each.metadata.name === 'hostpath' || each.metadata.name === each.provisioner),
  );
  if (former.length === 0) return;
  const admin = server.client(server.adminUser);
  const mark = (of: string, value: string | null): Promise<unknown> =>
    admin.patch(
      storageClasses,
      { name: of },
      { metadata: { annotations: { [ANN_DEFAULT_CLASS]: value } } },
      { type: 'merge' },
    );
  await mark(name, 'true');
  await Promise.all(former.map(({ metadata }) => mark(metadata.name, null)));
}

/** One class a driver, which is the driver's default, and one for group snapshots where it takes them. */
export async function installSnapshotClasses(
  server: Server,
  drivers: readonly { name: string; driver: DriverName; hasGroups: boolean }[],
): Promise<void> {
  const classOf = ({ name, driver }: { name: string; driver: DriverName }, isDefault: string) => ({
    metadata: { name, annotations: { [isDefault]: 'true' } },
    driver,
    deletionPolicy: 'Delete' as const,
  });
  const classes = drivers.map(
    (each): Draft<VolumeSnapshotClass> => classOf(each, ANN_DEFAULT_SNAPSHOT_CLASS),
  );
  const groupClasses = drivers
    .filter(({ hasGroups }) => hasGroups)
    .map((each): Draft<VolumeGroupSnapshotClass> => classOf(each, ANN_DEFAULT_GROUP_SNAPSHOT_CLASS));
  await installMissing(server, volumeSnapshotClasses, classes);
  await installMissing(server, volumeGroupSnapshotClasses, groupClasses);
}

/**
 * Resolves with how the object that was there already differs; with nothing where it was made or agrees. Its annotations
 * are added to one that was there already.
 */
export async function installDriverObject(server: Server, object: Draft<CSIDriver>): Promise<string[]> {
  const { name = '', annotations } = object.metadata;
  const present = server.reader.get(csiDrivers, { name });
  await installMissing(server, csiDrivers, [object]);
  if (present && annotations) {
    const admin = server.client(server.adminUser);
    await admin.patch(csiDrivers, { name }, { metadata: { annotations } }, { type: 'merge' });
  }
  return Object.entries(present ? object.spec : {})
    .filter(([field, wanted]) => !sameJson(present?.spec[field as keyof CSIDriver['spec']], wanted))
    .map(([field]) => field);
}

/** Resolves once what they define is served. */
export async function installDefinitions(server: Server): Promise<void> {
  const admin = server.client(server.adminUser);
  const files = (await readdir(definitions)).filter((name) => name.endsWith('.yaml'));
  await Promise.all(
    files.map(async (file) => {
      const text = await readFile(new URL(file, definitions), 'utf8');
      const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
      // `GROUP_PLURAL.yaml` holds the definition called PLURAL.GROUP.
      const [group = '', plural = ''] = file.slice(0, -'.yaml'.length).split('_');
      const present = server.reader.get(customResourceDefinitions, { name: `${plural}.${group}` });
      if (present?.metadata.annotations?.[ANN_DEFINITION_DIGEST] === digest) return;
      const { parse } = await import('yaml');
      const wanted = parse(text) as Draft<CustomResourceDefinition>;
      const annotations = { ...wanted.metadata.annotations, [ANN_DEFINITION_DIGEST]: digest };
      const metadata = { ...wanted.metadata, annotations };
      if (present === undefined) {
        await admin.create(customResourceDefinitions, { ...wanted, metadata });
        return;
      }
      const { resourceVersion } = present.metadata;
      await admin.update(customResourceDefinitions, {
        ...wanted,
        metadata: { ...metadata, resourceVersion },
      });
    }),
  );
  await established(server);
}

async function established({ reader }: Server): Promise<void> {
  const isMissing = (): boolean =>
    [...reader.list(customResourceDefinitions)].some((each) => !isEstablished(each));
  if (!isMissing()) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = reader.subscribe(customResourceDefinitions, () => {
    if (!isMissing()) resolve();
  });
  await promise.finally(unsubscribe);
}
