// The mount port: everything a node or a driver asks of the kernel's mount table and block devices. linux-mounter.ts
// implements it with system calls, memory-mounter.ts in memory for simulations and unit tests. It makes and removes
// mounts and loop devices; it never creates, fills or removes the directories and files that they sit on.

export type MountPropagation =
  | 'private'
  | 'rprivate'
  | 'shared'
  | 'rshared'
  | 'slave'
  | 'rslave'
  | 'unbindable';

export interface BindOptions {
  readOnly?: boolean;
  /** Carry submounts of the source along. */
  recursive?: boolean;
  /** Left as the kernel decides (shared below a shared parent) when absent. */
  propagation?: MountPropagation;
  /** Further per-mount options, e.g. `noexec`, `nosuid`. */
  options?: readonly string[];
}

export interface FilesystemMount {
  /** A block device, or what the filesystem type takes as its source. */
  source: string;
  target: string;
  fsType: string;
  /** As on the command line of mount(8): `ro`, `noatime`, `data=ordered`. */
  options?: readonly string[];
}

export interface UnmountOptions {
  /** MNT_DETACH: leave the tree at once, let the kernel finish when the last user is gone. */
  lazy?: boolean;
  /** MNT_FORCE: abort requests to an unreachable server. */
  force?: boolean;
}

/** One line of the mount table. */
export interface MountEntry {
  id: number;
  parentId: number;
  /** `major:minor` of the filesystem. */
  device: string;
  /** Path within the filesystem that is visible at the mount point: `/` unless it is a bind mount of a part. */
  root: string;
  mountPoint: string;
  /** Per-mount options; `ro` here makes this mount read-only. */
  options: readonly string[];
  /** Propagation and peer groups, e.g. `shared:12`. */
  optionalFields: readonly string[];
  fsType: string;
  source: string;
  /** Options of the filesystem; `ro` here makes every mount of it read-only. */
  superOptions: readonly string[];
}

/**
 * What is at a path: nothing; something that is no mount point; a healthy mount point; or a mount whose filesystem is
 * gone (ENOTCONN, ESTALE, EIO…), which must be unmounted before the path can be used again.
 */
export type PathState = 'absent' | 'plain' | 'mounted' | 'corrupted';

export interface FilesystemUsage {
  totalBytes: bigint;
  availableBytes: bigint;
  usedBytes: bigint;
  totalInodes: bigint;
  freeInodes: bigint;
  usedInodes: bigint;
}

/** Loop devices: block devices over an image file. */
export interface LoopDevices {
  /** Devices over this image (by its real path): writable and read-only ones, or only those of one kind. */
  find(image: string, kind?: { readOnly: boolean }): Promise<string[]>;
  /**
   * A new device over the image. With `autoClear` the kernel removes the device once nothing has it open, which makes
   * a leak impossible where the device is only ever used through a mount: `hold` keeps it alive until it is mounted.
   */
  attach(image: string, options: LoopAttachOptions): Promise<AttachedLoop>;
  /**
   * Detaches; a device that is in use goes when its last user does, one that is not attached is left alone. With `image`
   * also one that is over another image by now: devices are reused.
   */
  detach(device: string, image?: string): Promise<void>;
  /** Makes the device as large as its image has become. */
  refreshSize(device: string): Promise<void>;
}

export interface LoopAttachOptions {
  readOnly?: boolean;
  autoClear?: boolean;
}

export interface AttachedLoop {
  device: string;
  /** Closes the descriptor that kept an `autoClear` device alive; call it in any case. */
  release(): Promise<void>;
}

export interface Mounter {
  /** Makes `source`, a directory or a file, visible at `target` too. `target` exists and is of the same kind. */
  bind(source: string, target: string, options?: BindOptions): Promise<void>;
  mount(mount: FilesystemMount): Promise<void>;
  /** Changes options of the one mount at `target` (`ro`, `rw`, `noexec`…), not of its filesystem. */
  remount(target: string, options: readonly string[]): Promise<void>;
  /**
   * Afterwards nothing is mounted at `target`, however many mounts were stacked there. Succeeds if it was no mount
   * point, or does not exist.
   */
  unmount(target: string, options?: UnmountOptions): Promise<void>;
  /** The whole mount table, oldest first. */
  list(): Promise<MountEntry[]>;
  /** The mounts at exactly this path, the visible one last. Much cheaper than filtering `list`. */
  mountsAt(path: string): Promise<MountEntry[]>;
  /** Cheap, also right for a bind mount within one filesystem. False if the path does not exist. */
  isMountPoint(path: string): Promise<boolean>;
  inspect(path: string): Promise<PathState>;
  /** Usage of the filesystem that holds `path`. */
  usage(path: string): Promise<FilesystemUsage>;
  /** Size in bytes of a block device, or of an image file. */
  sizeOf(path: string): Promise<bigint>;
  /**
   * Holds the filesystem mounted at `path` still and whole on its device, until `thaw`: writers wait. Survives the death
   * of the process, so whoever may have died in between has to thaw. A filesystem that is frozen already stays so.
   */
  freeze(path: string): Promise<void>;
  /** Harmless on a filesystem that is not frozen. */
  thaw(path: string): Promise<void>;
  readonly loop: LoopDevices;
}
