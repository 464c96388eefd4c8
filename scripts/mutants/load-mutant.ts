// Loaded with `--import` into every process of a test that runs against a mutant: replaces one module's source at load
// time, so that files are not changed and mutants can run concurrently.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

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
