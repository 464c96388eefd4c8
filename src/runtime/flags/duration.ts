// Go's duration texts (`1m30s`, `100ms`, `1.5h`) to and from milliseconds. Counted in whole nanoseconds, as Go does,
// so that what was written is read back as the same number.

const NANOSECONDS_PER_UNIT: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n, // U+00B5, the micro sign
  μs: 1_000n, // U+03BC, the Greek letter; Go takes both
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
/** Go keeps a duration in 64 bits: about 292 years. */
const MAX_NANOSECONDS = 2n ** 63n - 1n;

/** Milliseconds, or undefined when `text` is no duration. A bare number is refused, as in Go, except `0`. */
export function parseDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text;
  if (unsigned === '0') return 0;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(unsigned)) return undefined;
  let nanoseconds = 0n;
  for (const [, whole, fraction = '', unit] of unsigned.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const perUnit = NANOSECONDS_PER_UNIT[unit as string] as bigint;
    nanoseconds += BigInt(whole || 0) * perUnit;
    nanoseconds += (BigInt(fraction || 0) * perUnit) / 10n ** BigInt(fraction.length);
  }
  if (nanoseconds > MAX_NANOSECONDS) return undefined;
  const ms = toMs(nanoseconds);
  return ms === 0 ? 0 : sign * ms;
}

function toMs(nanoseconds: bigint): number {
  // One division where the number is exact, so that it is rounded once.
  if (nanoseconds <= Number.MAX_SAFE_INTEGER) return Number(nanoseconds) / 1e6;
  return Number(nanoseconds / 1_000_000n) + Number(nanoseconds % 1_000_000n) / 1e6;
}

/** As Go prints it: `1h0m0s`, `1m30s`, `1.5s`, `100ms`, `0s`. */
export function formatDuration(durationMs: number): string {
  if (!Number.isFinite(durationMs)) throw new RangeError(`${durationMs} is not a duration in milliseconds`);
  const wholeMs = Math.trunc(Math.abs(durationMs));
  const rest = Math.round((Math.abs(durationMs) - wholeMs) * 1e6);
  const nanoseconds = BigInt(wholeMs) * 1_000_000n + BigInt(rest);
  const sign = durationMs < 0 ? '-' : '';
  if (nanoseconds === 0n) return '0s';
  if (nanoseconds < 1_000n) return `${sign}${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${sign}${decimal(nanoseconds, 3)}µs`;
  if (nanoseconds < 1_000_000_000n) return `${sign}${decimal(nanoseconds, 6)}ms`;
  const hours = nanoseconds / 3_600_000_000_000n;
  const minutes = (nanoseconds / 60_000_000_000n) % 60n;
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 9)}s`;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

/** `value` / 10^digits without an exponent and without trailing zeros. */
function decimal(value: bigint, digits: number): string {
  const padded = String(value).padStart(digits + 1, '0');
  const whole = padded.slice(0, -digits);
  const fraction = padded.slice(-digits).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
