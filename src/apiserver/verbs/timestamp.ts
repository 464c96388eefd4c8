// Times as Kubernetes writes them in metadata: UTC, whole seconds.

export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
