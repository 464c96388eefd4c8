// Loaded with `--import` into every process of a test that runs against a mutant: replaces one module's source at load
// time, so that files are not changed and mutants can run concurrently. Ends the test's own process at its limit.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const TICK_MS = 50;

const file = process.env.BERTH_MUTANT_FILE;
const target = process.env.BERTH_MUTANT_URL;
if (file !== undefined && target !== undefined) {
  registerHooks({
    load: (url, context, next) =>
      url === target
        ? { format: 'module-typescript', source: readFileSync(file, 'utf8'), shortCircuit: true }
        : next(url, context),
  });
}

const limitMs = process.env.BERTH_MUTANT_LIMIT_MS;
delete process.env.BERTH_MUTANT_LIMIT_MS;
if (limitMs !== undefined) {
  // Ticks instead of time: a process that gets no CPU does not tick, so a busy machine fails no test.
  let passedMs = 0;
  setInterval(() => {
    passedMs += TICK_MS;
    if (passedMs > Number(limitMs)) process.exit(1);
  }, TICK_MS).unref();
}
