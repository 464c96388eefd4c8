// Ages and durations in kubectl's format.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Two units while the number is small, one when it is large: 45s, 5m10s, 42m, 5h12m, 30h, 3d4h, 300d, 2y50d. */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / SECOND);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(durationMs / MINUTE);
  if (minutes < 10) return joined(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(durationMs / HOUR);
  if (hours < 8) return joined(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 192) return joined(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (days < 365 * 8) return joined(years, 'y', days % 365, 'd');
  return `${years}y`;
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** Time since an RFC 3339 timestamp; `<unknown>` without one. */
export function ageOf(stamp: unknown, nowMs: number): string {
  const atMs = typeof stamp === 'string' ? Date.parse(stamp) : Number.NaN;
  return Number.isNaN(atMs) ? '<unknown>' : humanDuration(nowMs - atMs);
}
