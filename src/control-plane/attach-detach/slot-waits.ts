// Slots that wait, by what they wait for. Waking removes them: a slot that still has to wait is added again.

export class SlotWaits {
  readonly #wake: (slot: string) => void;
  readonly #slots = new Map<string, Set<string>>();

  constructor(wake: (slot: string) => void) {
    this.#wake = wake;
  }

  add(awaited: string, slot: string): void {
    const slots = this.#slots.get(awaited);
    if (slots) slots.add(slot);
    else this.#slots.set(awaited, new Set([slot]));
  }

  wake(awaited: string): void {
    const slots = this.#slots.get(awaited);
    if (!slots) return;
    this.#slots.delete(awaited);
    for (const slot of slots) this.#wake(slot);
  }
}
