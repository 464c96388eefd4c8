// Loaded into every process of a test that judges a mutant (`--import`): one module's source is replaced while it is
// loaded, so the files themselves are never touched and two mutants can be judged side by side.
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
