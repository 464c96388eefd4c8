// What a node has on its disk and in its mount table for pods that do not exist, or for volumes that no pod there uses. Pure.

export interface NodeFacts {
  readonly node: string;
  /** UIDs of the pods that the cluster has for this node. */
  readonly pods: ReadonlySet<string>;
  /** Handles by driver that these pods use, or that the Node reports as in use. */
  readonly used: ReadonlySet<string>;
  /** Directories of one volume for one pod. */
  readonly podVolumes: readonly PodVolume[];
  /** Directories of one staged volume. */
  readonly staged: readonly StagedVolume[];
  readonly mountPoints: ReadonlySet<string>;
  /** The directory with one directory for each pod. */
  readonly podsDirectory: string;
}

export interface PodVolume {
  readonly podUid: string;
  readonly directory: string;
  readonly target: string;
}

export interface StagedVolume {
  readonly driver: string;
  /** Empty where its record cannot be read. */
  readonly handle: string;
  readonly directory: string;
  readonly staging: string;
}

export interface Orphan {
  readonly id: string;
  readonly kind: 'mount-orphaned' | 'directory-orphaned';
  readonly path: string;
  readonly says: string;
  readonly advice: string;
}

export const usedKey = (driver: string, handle: string): string => `${driver}^${handle}`;

export function findOrphans(facts: NodeFacts): Orphan[] {
  const { node, pods, used, podVolumes, staged, mountPoints, podsDirectory } = facts;
  const targets = new Set(podVolumes.map(({ target }) => target));
  // Also what is no volume of its own, such as the mount of a subpath.
  const otherMounts = [...mountPoints].flatMap((path) => {
    if (targets.has(path) || !path.startsWith(`${podsDirectory}/`)) return [];
    const podUid = path.slice(podsDirectory.length + 1).split('/')[0] ?? '';
    return [{ podUid, directory: path, target: path }];
  });
  const orphan = (path: string, directory: string, says: string): Orphan => {
    const isMounted = mountPoints.has(path);
    const kind = isMounted ? 'mount-orphaned' : 'directory-orphaned';
    const shown = isMounted ? path : directory;
    return {
      id: `${kind}/${shown}`,
      kind,
      path: shown,
      says,
      advice:
        `restart the kubelet or \`berth node\` of ${node}, which tears it down through the driver; if it stays: ` +
        (isMounted
          ? `umount ${path}, and then remove the empty directories`
          : `rmdir ${directory} once it is empty`),
    };
  };
  return [
    ...[...podVolumes, ...otherMounts]
      .filter(({ podUid }) => !pods.has(podUid))
      .map(({ podUid, directory, target }) =>
        orphan(target, directory, `it is for pod UID ${podUid}, and the cluster has no such pod on ${node}`),
      ),
    ...staged
      .filter(({ driver, handle }) => !used.has(usedKey(driver, handle)))
      .map(({ driver, handle, directory, staging }) =>
        orphan(
          staging,
          directory,
          handle === ''
            ? `it is for a volume of ${driver}, and its record cannot be read`
            : `it is for volume ${handle} of ${driver}, which no pod on ${node} uses`,
        ),
      ),
  ];
}
