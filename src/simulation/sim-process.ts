// A simulated process: the ports of a MortalProcess, on the world's virtual clock.

export { MortalProcess as SimProcess, never } from '../runtime/process/mortal-process.ts';
