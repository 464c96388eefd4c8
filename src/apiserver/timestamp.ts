// Times as Kubernetes writes them in metadata: UTC, whole seconds.

const MS_PER_SECOND = 1000;
/** Many writes happen in one second, and writing a time out costs more than the rest of some of them. */
let last = { second: Number.NaN, text: '' };

export function timestamp(ms: number): string {
  const second = Math.floor(ms / MS_PER_SECOND);
  if (second !== last.second) {
    last = { second, text: `${new Date(ms).toISOString().slice(0, 19)}Z` };
  }
  return last.text;
}
