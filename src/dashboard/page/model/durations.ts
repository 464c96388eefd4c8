// Formats times for users. Pure.

const SECOND_MS = 1_000;

/** How old something is, in its two largest units: `12s`, `3m12s`, `5h04m`, `3d7h`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND_MS));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes === 0) return `${seconds}s`;
  if (hours === 0) return `${minutes}m${twoDigits(seconds % 60)}s`;
  if (hours < 24) return `${hours}h${twoDigits(minutes % 60)}m`;
  return `${Math.floor(hours / 24)}d${hours % 24}h`;
}

/** Time since the start, with milliseconds while they matter: `+0.012s`, `+3m12s`. */
export function formatSince(ms: number): string {
  return ms < 60 * SECOND_MS ? `+${(Math.max(0, ms) / SECOND_MS).toFixed(3)}s` : `+${formatAge(ms)}`;
}

/** How long a call took: `0.4 ms`, `12 ms`, `1.2 s`. */
export function formatLatency(ms: number): string {
  if (ms >= SECOND_MS) return `${(ms / SECOND_MS).toFixed(1)} s`;
  return `${ms >= 10 || ms === 0 ? Math.round(ms) : ms.toFixed(1)} ms`;
}

/** `17:04:09`, in the user's time zone. */
export function formatClock(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
}

const twoDigits = (number: number): string => String(number).padStart(2, '0');
