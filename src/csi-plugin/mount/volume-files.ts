// The port for directories and small files below the kubelet's root. It never follows a symbolic link, never removes
// anything but empty directories and our own records, and never writes outside of the root.

export type PathKind = 'absent' | 'directory' | 'file' | 'device' | 'symlink' | 'other';

/** Something is in the way that is not ours to remove. The message is fit for events. */
export class UnsafePathError extends Error {
  override readonly name = 'UnsafePathError';
}

export interface GroupChange {
  gid: number;
  /** Stop at once when the root of the volume is as it should be already. */
  onlyIfRootDiffers: boolean;
}

export interface VolumeFiles {
  /** With everything above it, down from the root; refuses links and files on the way. */
  makeDirectory(path: string): Promise<void>;
  /** Of the path itself, without following it. */
  kindOf(path: string): Promise<PathKind>;
  /** Harmless if absent. Refuses what is not an empty directory. */
  removeDirectory(path: string): Promise<void>;
  /** The file a raw block volume was published at. Harmless if absent; refuses what is not an empty file. */
  removeEmptyFile(path: string): Promise<void>;
  readRecord(path: string): Promise<string | undefined>;
  /** All or nothing: a reader sees the old text or the new one. */
  writeRecord(path: string, text: string): Promise<void>;
  removeRecord(path: string): Promise<void>;
  /** Sorted names; empty if the directory is absent. */
  list(path: string): Promise<string[]>;
  /** Of a socket: a text that is another one when it was made anew. Undefined for anything else. */
  socketIdentity(path: string): Promise<string | undefined>;
  /** Gives a mounted volume to a group: owner, read and write, and the set-group-ID bit of directories. */
  changeGroup(path: string, change: GroupChange, signal: AbortSignal): Promise<void>;
  /** Calls `changed` whenever an entry of the directory appears, disappears or is replaced. Returns stop. */
  watch(path: string, changed: () => void): () => void;
}
