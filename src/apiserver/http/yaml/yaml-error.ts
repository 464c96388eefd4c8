// The results of reading YAML: JSON, or an error. Separate from the reader, so that importing it does not load the
// library.

export interface YamlAsJson {
  readonly json: string;
  /** One sentence per duplicate key of a map, in kube-apiserver's words. */
  readonly duplicates: readonly string[];
}

/** The text is not a YAML document with an object. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
}
