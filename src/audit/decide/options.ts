/** How an audit judges. */
export interface JudgeOptions {
  /** What is younger is not reported. */
  readonly minAgeMs: number;
  /** `--volume-name-prefix` of the provisioner: names of volumes begin with it. */
  readonly volumeNamePrefix: string;
  /** Only this cluster uses the storage. */
  readonly isExclusive: boolean;
  /** The key and value in the volume context by which the driver marks volumes of this cluster. */
  readonly clusterMark?: { readonly key: string; readonly value: string } | undefined;
  /** Volumes that may be kept on purpose are planned to be deleted too. */
  readonly includesKept: boolean;
}

export const DEFAULT_JUDGE_OPTIONS: JudgeOptions = {
  minAgeMs: 10 * 60_000,
  volumeNamePrefix: 'pvc',
  isExclusive: false,
  includesKept: false,
};
