// A value from outside as text. `String(value)` calls the value's own `toString`, which a client can make anything,
// so that it throws.

export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value) ?? String(value);
}
