// Template expressions inside objects: each is a word that YAML leaves as it is, and is replaced in the printed text. Pure.

/** A value in the text. */
const VALUE = /HELMVALUE(\d+)X/g;
/** A line of its own that begins or ends a condition, as an element of a list or a key of a map. */
const LINE = /^( *)(?:- )?HELMLINE(\d+)N\d+X(?:: HELMLINE\w+)?$/gm;

export class Expressions {
  readonly #texts: string[] = [];
  #lines = 0;

  /** A string that prints as `{{ expression }}`. */
  value(expression: string): string {
    return `HELMVALUE${this.#index(expression)}X`;
  }

  /** A string that prints as the line `{{- statement }}`. No two are equal, so that they can be keys of one map. */
  line(statement: string): string {
    return `HELMLINE${this.#index(statement)}N${this.#lines++}X`;
  }

  /** `text` with its expressions; braces in it are literal. */
  print(text: string): string {
    return (
      text
        .replaceAll('{{', '{{ "{{" }}')
        .replaceAll(
          LINE,
          (_, indent: string, index: string) => `${indent}{{- ${this.#texts[Number(index)]} }}`,
        )
        .replaceAll(VALUE, (_, index: string) => `{{ ${this.#texts[Number(index)]} }}`)
        // A namespace may look like a number.
        .replaceAll(/(?<=: )\{\{ (\.Release\.Namespace) \}\}$/gm, '{{ $1 | quote }}')
    );
  }

  #index(text: string): number {
    const known = this.#texts.indexOf(text);
    return known >= 0 ? known : this.#texts.push(text) - 1;
  }
}
