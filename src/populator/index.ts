// The public API for volume populators, `berth/populator`: define how volumes are filled from objects of one kind, run it.

export { createPopulator, type PopulatorPorts } from './create-populator.ts';
export type {
  PopulateByFunctions,
  PopulateByPod,
  Population,
  PopulatorDefinition,
} from './populator-definition.ts';
export { type RunPopulatorOptions, runPopulator } from './run-populator.ts';
