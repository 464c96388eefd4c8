// How much of something a client may have at once, and all clients together. Beyond it: 429.

import { tooManyRequests } from '../verbs/status.ts';

export interface QuotaLimits {
  readonly perClient: number;
  readonly all: number;
}

/** One client can use a quarter of all. */
export function quotaOf(all: number): QuotaLimits {
  return { all, perClient: Math.max(1, Math.floor(all / 4)) };
}

export class ClientQuota {
  readonly #what: string;
  readonly #limits: QuotaLimits;
  readonly #used = new Map<string, number>();
  #all = 0;

  /** `what`: in the plural, for the refusal. */
  constructor(what: string, limits: QuotaLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  /** Returns a function that gives it back, to be called once. */
  take(client: string): () => void {
    const { perClient, all } = this.#limits;
    const used = this.#used.get(client) ?? 0;
    if (used >= perClient) {
      throw tooManyRequests(`this client has ${used} open ${this.#what}, the limit of one client`);
    }
    if (this.#all >= all) throw tooManyRequests(`there are ${all} open ${this.#what}, the limit`);
    this.#used.set(client, used + 1);
    this.#all++;
    return () => {
      this.#all--;
      const left = (this.#used.get(client) ?? 1) - 1;
      if (left === 0) this.#used.delete(client);
      else this.#used.set(client, left);
    };
  }
}
