// Records the secrets and volume contexts of the calls to the driver, for verification by the demo. Secret values are
// only compared, never returned.

import type { Interceptor } from '../csi/server/serve-call.ts';

interface SeenCall {
  method: string;
  secrets: Readonly<Record<string, string>>;
  volumeContext: Readonly<Record<string, string>>;
}

export class SeenCalls {
  readonly #calls: SeenCall[] = [];

  readonly interceptor: Interceptor = (call, next) => {
    const { secrets = {}, volumeContext = {} } = call.request as unknown as Partial<SeenCall>;
    this.#calls.push({ method: call.method.name, secrets, volumeContext });
    return next();
  };

  /** Whether a call of this method had exactly these secrets. */
  broughtSecrets(method: string, expected: Readonly<Record<string, string>>): boolean {
    const wanted = JSON.stringify(Object.entries(expected).toSorted());
    return this.#of(method).some(
      ({ secrets }) => JSON.stringify(Object.entries(secrets).toSorted()) === wanted,
    );
  }

  /** The other methods whose calls had any of these values. */
  leakedSecrets(methods: readonly string[], values: readonly string[]): string[] {
    return this.#calls
      .filter(
        ({ method, secrets }) =>
          !methods.includes(method) && Object.values(secrets).some((value) => values.includes(value)),
      )
      .map(({ method }) => method);
  }

  /** The last volume context of this method that holds the key with the value. */
  contextWith(method: string, key: string, value: string): Readonly<Record<string, string>> | undefined {
    return this.#of(method).findLast(({ volumeContext }) => volumeContext[key] === value)?.volumeContext;
  }

  #of(method: string): SeenCall[] {
    return this.#calls.filter((call) => call.method === method);
  }
}
