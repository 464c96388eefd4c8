// Timestamps in Kubernetes' metadata format: UTC, whole seconds.

const MS_PER_SECOND = 1000;
/** Cached: many writes happen in one second, and formatting a time is a large part of a small write. */
let last = { second: Number.NaN, text: '' };

export function timestamp(ms: number): string {
  const second = Math.floor(ms / MS_PER_SECOND);
  if (second !== last.second) {
    last = { second, text: `${new Date(ms).toISOString().slice(0, 19)}Z` };
  }
  return last.text;
}
