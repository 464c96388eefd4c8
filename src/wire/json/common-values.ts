// Gives what is made from equal texts one copy in memory, where a field has few values: a class, a driver, a node. A field
// whose values hardly repeat, a UID, is noticed and no longer looked up.

/** Texts remembered at a time. */
const MAX_TEXTS = 512;

export class CommonValues<T> {
  #known: Map<string, T> | undefined = new Map();
  #hits = 0;

  /** What was given to `add` for this text, if it is remembered. */
  get(text: string): T | undefined {
    const value = this.#known?.get(text);
    if (value !== undefined) this.#hits++;
    return value;
  }

  /** Returns the value. */
  add(text: string, value: T): T {
    if (this.#known?.size === MAX_TEXTS) {
      this.#known = this.#hits < MAX_TEXTS ? undefined : new Map();
      this.#hits = 0;
    }
    this.#known?.set(text, value);
    return value;
  }
}
