// Every kind that both servers serve.

import { networkSubjects } from './network.ts';
import { definitionSubject, otherSubjects } from './others.ts';
import { storageSubjects } from './storage.ts';
import type { Subject } from './subject.ts';
import { workloadSubjects } from './workloads.ts';

export const subjects: readonly Subject[] = [
  ...storageSubjects,
  ...workloadSubjects,
  ...networkSubjects,
  ...otherSubjects,
  definitionSubject,
];
