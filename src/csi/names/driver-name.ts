// Names from outside that end up in paths, labels and annotations: checked once, then carried as branded types. A
// name that is refused here is refused by every component, and its driver is not talked to. Pure.

declare const brand: unique symbol;
export type Branded<Name extends string> = string & { readonly [brand]: Name };

export type DriverName = Branded<'DriverName'>;
export type VolumeHandle = Branded<'VolumeHandle'>;
export type NodeId = Branded<'NodeId'>;
export type NodeName = Branded<'NodeName'>;
export type SnapshotHandle = Branded<'SnapshotHandle'>;
export type GroupSnapshotHandle = Branded<'GroupSnapshotHandle'>;

const maxDriverNameLength = 63;
const labels = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i;

/** What is wrong with a driver's name, or undefined. The rules of the CSI specification and of `CSIDriver` objects. */
export function driverNameProblem(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (name.length > maxDriverNameLength) {
    return `it has ${name.length} characters, at most ${maxDriverNameLength} are allowed`;
  }
  if (!/^[-a-z0-9.]*$/i.test(name)) return 'only letters, digits, "-" and "." are allowed';
  if (!labels.test(name)) return 'each part between dots must begin and end with a letter or digit';
  return undefined;
}

/** Throws an error that quotes the name (safely) and says what is wrong with it. */
export function parseDriverName(name: string): DriverName {
  const problem = driverNameProblem(name);
  if (problem !== undefined) {
    // Quoted and cut: the name comes from a driver and goes to logs and terminals.
    throw new Error(
      `driver name ${JSON.stringify(name.slice(0, 100))} is refused: ${problem}; the driver is not used until it reports another name`,
    );
  }
  return name as DriverName;
}

/** A volume, as its driver knows it. */
export interface VolumeNames {
  readonly driver: DriverName;
  readonly volumeHandle: VolumeHandle;
}

/** The volume that an API object refers to. The API server has checked both names. */
export function volumeNamesOf(object: {
  readonly driver: string;
  readonly volumeHandle: string;
}): VolumeNames {
  return { driver: object.driver as DriverName, volumeHandle: object.volumeHandle as VolumeHandle };
}

/** The name of the driver's directory, as in `<kubelet>/plugins/<SanitizedDriverName>/csi.sock`. */
export function sanitizedDriverName(name: DriverName): string {
  return escapeQualifiedName(name);
}

/** A qualified name as one path segment: `kubernetes.io/csi` becomes `kubernetes.io~csi`. */
export function escapeQualifiedName(name: string): string {
  return name.replaceAll('/', '~');
}

/** Drivers exist that forget to fill in what they must; an empty ID would name any volume, or none. */
function nonEmpty(kind: string, text: string): string {
  if (text === '') throw new Error(`the driver gave an empty ${kind}; it must name what it refers to`);
  return text;
}

export const parseVolumeHandle = (text: string): VolumeHandle => nonEmpty('volume ID', text) as VolumeHandle;

/** Kubernetes stores node IDs of up to 256 bytes in CSINode, the limit of the specification. */
export function parseNodeId(text: string): NodeId {
  nonEmpty('node ID', text);
  const bytes = Buffer.byteLength(text);
  if (bytes > 256) throw new Error(`the driver gave a node ID of ${bytes} bytes; at most 256 are allowed`);
  return text as NodeId;
}
