// Fills `${token}` and `$token` in a parameter of a class, as Go's os.Expand does. Pure.

export interface FilledTemplate {
  text: string;
  /** Tokens that have no value here. */
  unknown: string[];
}

export function fillTemplate(template: string, values: ReadonlyMap<string, string>): FilledTemplate {
  const unknown: string[] = [];
  const text = template.replaceAll(/\$(?:\{([^}]*)\}|([A-Za-z0-9_]+))/g, (_whole, braced, bare) => {
    const token = String(braced ?? bare);
    const value = values.get(token);
    if (value === undefined) unknown.push(token);
    return value ?? '';
  });
  return { text, unknown };
}
