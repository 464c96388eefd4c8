// Reads `--controllers`: `*` is all, `name` that one, `-name` all but that one where `*` is given. Pure.

/** Throws an Error that names an unknown controller. */
export function selectControllers<T extends { name: string; alias: string }>(
  rows: readonly T[],
  words: readonly string[],
): T[] {
  const isNamed = (row: T, name: string): boolean => row.name === name || row.alias === name;
  for (const word of words) {
    const name = word.replace(/^-/, '');
    if (word === '*' || rows.some((row) => isNamed(row, name))) continue;
    const known = rows.map((row) => row.name).join(', ');
    throw new Error(`unknown controller "${name}"; known are ${known}`);
  }
  return rows.filter((row) => {
    // The first entry about a controller counts, as in kube-controller-manager.
    const about = words.find((word) => isNamed(row, word.replace(/^-/, '')));
    return about === undefined ? words.includes('*') : !about.startsWith('-');
  });
}
