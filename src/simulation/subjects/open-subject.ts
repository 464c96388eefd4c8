// The one driver of a run, from where the user has it. Can be opened again in another thread.

import { readRecording } from '../../recording/read-recording.ts';
import type { Subject } from '../driver-backend.ts';
import { loadDriverModule } from './load-driver-module.ts';
import { moduleSubject } from './module-subject.ts';
import { recordedSubject } from './recorded-subject.ts';

export interface SubjectSource {
  /** Path of a recording. */
  readonly recording?: string;
  /** Of the recorded driver, if the recording does not have it. */
  readonly driverName?: string;
  /** Path of a module whose default export is a `SimulatedDriver`. */
  readonly driverModule?: string;
}

export async function openSubject({ recording, driverName, driverModule }: SubjectSource): Promise<Subject> {
  if (driverModule !== undefined) return moduleSubject(await loadDriverModule(driverModule), driverModule);
  return recordedSubject(await readRecording(recording ?? ''), driverName);
}
