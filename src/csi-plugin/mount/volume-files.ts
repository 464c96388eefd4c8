// The port for directories and small files below the kubelet's root. It never follows a symbolic link, never removes
// anything but empty directories and our own records, and never writes outside of the root.

export type PathKind = 'absent' | 'directory' | 'file' | 'device' | 'symlink' | 'other';

/** A foreign file or directory is at a path that is needed. The message is suitable for events. */
export class UnsafePathError extends Error {
  override readonly name = 'UnsafePathError';
}

export interface GroupChange {
  gid: number;
  /** Skip the walk when the root of the volume already has the right group and mode. */
  onlyIfRootDiffers: boolean;
}

export interface VolumeFiles {
  /** Creates the directory and its parents below the root; rejects links and files on the way. */
  makeDirectory(path: string): Promise<void>;
  /** The kind of the path itself; links are not followed. */
  kindOf(path: string): Promise<PathKind>;
  /** No-op if absent. Rejects anything but an empty directory. */
  removeDirectory(path: string): Promise<void>;
  /** Removes the target file of a raw block volume. No-op if absent; rejects anything but an empty file. */
  removeEmptyFile(path: string): Promise<void>;
  readRecord(path: string): Promise<string | undefined>;
  /** Atomic: a reader sees the old text or the new one. */
  writeRecord(path: string, text: string): Promise<void>;
  removeRecord(path: string): Promise<void>;
  /** Sorted names; empty if the directory is absent. */
  list(path: string): Promise<string[]>;
  /** The identity of a socket, which changes when it is recreated. Undefined for anything else. */
  socketIdentity(path: string): Promise<string | undefined>;
  /** Applies an fsGroup to a mounted volume: group, read and write, and the setgid bit of directories. */
  changeGroup(path: string, change: GroupChange, signal: AbortSignal): Promise<void>;
  /**
   * Calls `changed` whenever an entry of the directory appears, disappears or is replaced. Returns a function that
   * stops it.
   */
  watch(path: string, changed: () => void): () => void;
}
