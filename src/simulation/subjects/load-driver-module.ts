// Loads the module of `--driver-module` and says clearly what is wrong with one that cannot be used.

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SimulatedDriver } from '../../driver/simulated-driver.ts';
import { ExpectedError } from '../../runtime/expected-error.ts';

export class DriverModuleError extends ExpectedError {
  override readonly name = 'DriverModuleError';

  constructor(message: string, cause?: unknown) {
    super(message, cause);
  }
}

export async function loadDriverModule(path: string): Promise<SimulatedDriver<object>> {
  let module: { default?: unknown };
  try {
    module = await import(pathToFileURL(resolve(path)).href);
  } catch (error) {
    throw new DriverModuleError(`${path} cannot be loaded: ${textOf(error)}`, error);
  }
  const found = module.default as Partial<SimulatedDriver<object>> | undefined;
  if (typeof found?.storage === 'function' && typeof found.driver === 'function') return found as never;
  const exported = Object.keys(module).join(', ') || 'nothing';
  throw new DriverModuleError(
    `${path} has no driver to simulate: its default export is to be simulatedDriver({ storage, driver }) of berth/driver, and it exports ${exported}`,
  );
}

/** With the place in the module, which is what its author needs. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = /\n\s+at .*/.exec(error.stack ?? '')?.[0].trim();
  return place === undefined ? error.message : `${error.message} (${place})`;
}
