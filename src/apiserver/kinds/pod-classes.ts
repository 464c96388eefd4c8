// Classes that a pod names: its priority (PriorityClass) and its container runtime (RuntimeClass).

import type { Kind } from '../kind.ts';
import { priorityClassColumns, runtimeClassColumns } from '../printing/network-columns.ts';
import {
  validatePriorityClass,
  validatePriorityClassUpdate,
  validateRuntimeClass,
  validateRuntimeClassUpdate,
} from '../validation/pod-classes.ts';
import { defineKind } from './define-kind.ts';
import { setDefault } from './loose.ts';

const priorityClassKind = defineKind({
  group: 'scheduling.k8s.io',
  version: 'v1',
  module: 'scheduling/v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  namespaced: false,
  shortNames: ['pc'],
  columns: priorityClassColumns,
  // It is 1 and stays so.
  prepareForCreate: ({ metadata }) => {
    metadata.generation = 1;
  },
  setDefaults: (priorityClass) => setDefault(priorityClass, 'preemptionPolicy', 'PreemptLowerPriority'),
  validate: validatePriorityClass,
  validateUpdate: validatePriorityClassUpdate,
});

const runtimeClassKind = defineKind({
  group: 'node.k8s.io',
  version: 'v1',
  module: 'node/v1',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  namespaced: false,
  columns: runtimeClassColumns,
  validate: validateRuntimeClass,
  validateUpdate: validateRuntimeClassUpdate,
});

export const podClassKinds: readonly Kind[] = [priorityClassKind, runtimeClassKind];
