// The scenarios that come with Berth, in examples/chaos: one for each thing that people suffer from and faults can cause.

import { readdir, readFile, stat } from 'node:fs/promises';
import { parseScenario, type Scenario, ScenarioError } from './scenario.ts';

const folder = new URL('../../examples/chaos/', import.meta.url);

export async function shippedNames(): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .sort();
}

/** A file, or the name of one that comes with Berth. Throws a ScenarioError. */
export async function openScenario(source: string): Promise<Scenario> {
  const names = await shippedNames();
  const isFile = await stat(source).then(
    (found) => found.isFile(),
    () => false,
  );
  if (isFile) return parseScenario(await readFile(source, 'utf8'), source);
  if (!names.includes(source)) {
    throw new ScenarioError(`there is no file ${source}, and no scenario of that name; berth chaos list`);
  }
  return parseScenario(await readFile(new URL(`${source}.yaml`, folder), 'utf8'), `${source}.yaml`);
}
