// The order of resource versions. They are opaque by contract, but every server increments them.

/**
 * Compares resource versions as numbers. Where one is not a number the order is unknown, and any difference counts as
 * newer (the server's word is taken), or, with `unknown: 'older'`, as older.
 */
export function isNewer(version: string, than: string, unknown: 'newer' | 'older' = 'newer'): boolean {
  if (!isNumeric(version) || !isNumeric(than)) return unknown === 'newer' && version !== than;
  return version.length === than.length ? version > than : version.length > than.length;
}

/** A loop, not a regular expression: this runs several times an event. */
function isNumeric(version: string): boolean {
  for (let i = 0; i < version.length; i++) {
    const code = version.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return version.length > 0 && version.charCodeAt(0) !== 0x30;
}
