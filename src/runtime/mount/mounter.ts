// The mount port: operations of a node or a driver on the kernel's mount table and block devices. Implemented with
// system calls by linux-mounter.ts, and in memory by memory-mounter.ts for simulations and unit tests. It creates and
// removes mounts and loop devices; it never creates, fills or removes the directories and files below them.

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
  /** Include submounts of the source. */
  recursive?: boolean;
  /** When absent the kernel decides: shared below a shared parent. */
  propagation?: MountPropagation;
  /** Further per-mount options, e.g. `noexec`, `nosuid`. */
  options?: readonly string[];
}

export interface FilesystemMount {
  /** A block device, or another source that the filesystem type accepts. */
  source: string;
  target: string;
  fsType: string;
  /** As on the command line of mount(8): `ro`, `noatime`, `data=ordered`. */
  options?: readonly string[];
}

export interface UnmountOptions {
  /** MNT_DETACH: lazy unmount, completed when the last user closes it. */
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
  /** The path within the filesystem that is mounted: `/`, except for bind mounts of a subdirectory. */
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
 * The state of a path: absent; not a mount point; a healthy mount point; or a mount whose filesystem is dead (ENOTCONN,
 * ESTALE, EIO…), which must be unmounted before the path can be used again.
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
  /** The devices over this image (by its real path); optionally only writable or only read-only ones. */
  find(image: string, kind?: { readOnly: boolean }): Promise<string[]>;
  /**
   * Attaches a new device over the image. With `autoClear` the kernel detaches it when the last user closes it, so a
   * device that is only used through a mount cannot leak. `hold` keeps it alive until it is mounted.
   */
  attach(image: string, options: LoopAttachOptions): Promise<AttachedLoop>;
  /**
   * Detaches the device; one in use is detached when its last user closes it. No-op if it is not attached or, with
   * `image`, if it has been reused for another image.
   */
  detach(device: string, image?: string): Promise<void>;
  /** Updates the device's size to that of its image. */
  refreshSize(device: string): Promise<void>;
}

export interface LoopAttachOptions {
  readOnly?: boolean;
  autoClear?: boolean;
}

export interface AttachedLoop {
  device: string;
  /** Closes the descriptor that keeps an `autoClear` device alive. Always call it. */
  release(): Promise<void>;
}

export interface Mounter {
  /** Bind-mounts `source`, a directory or a file, at `target`, which exists and is of the same kind. */
  bind(source: string, target: string, options?: BindOptions): Promise<void>;
  mount(mount: FilesystemMount): Promise<void>;
  /** Changes per-mount options at `target` (`ro`, `rw`, `noexec`…), not those of the filesystem. */
  remount(target: string, options: readonly string[]): Promise<void>;
  /**
   * Unmounts all mounts stacked at `target`. Idempotent: succeeds if it is not a mount point or does not exist.
   */
  unmount(target: string, options?: UnmountOptions): Promise<void>;
  /** The whole mount table, oldest first. */
  list(): Promise<MountEntry[]>;
  /** The mounts at exactly this path, the visible one last. Much cheaper than filtering `list`. */
  mountsAt(path: string): Promise<MountEntry[]>;
  /** Cheap; also correct for a bind mount within one filesystem. False if the path does not exist. */
  isMountPoint(path: string): Promise<boolean>;
  inspect(path: string): Promise<PathState>;
  /** Usage of the filesystem that holds `path`. */
  usage(path: string): Promise<FilesystemUsage>;
  /** Size in bytes of a block device, or of an image file. */
  sizeOf(path: string): Promise<bigint>;
  /**
   * Freezes the filesystem mounted at `path` (FIFREEZE) until `thaw`: writers block, and the device is consistent. The
   * freeze outlives the process, so crash recovery has to thaw. Idempotent.
   */
  freeze(path: string): Promise<void>;
  /** No-op if the filesystem is not frozen. */
  thaw(path: string): Promise<void>;
  readonly loop: LoopDevices;
}
