// What reading YAML ends in: JSON, or the reason why not. Apart from the reader, so that nobody loads the library for it.

export interface YamlAsJson {
  readonly json: string;
  /** One sentence for each key that stands twice in one map, as kube-apiserver words it. */
  readonly duplicates: readonly string[];
}

/** The text is not a YAML document that could be an object. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
}
