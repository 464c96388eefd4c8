// The one table of built-in kinds. Order is the order of groups in discovery.

import type { Kind } from '../kind.ts';
import { accessKinds } from './access.ts';
import { appsKinds } from './apps.ts';
import { coreKinds } from './core.ts';
import { eventsKinds } from './events.ts';
import { networkKinds } from './network.ts';
import { otherKinds } from './others.ts';
import { podClassKinds } from './pod-classes.ts';
import { policyKinds } from './policies.ts';
import { storageKinds } from './storage.ts';

export const builtinKinds: readonly Kind[] = [
  ...coreKinds,
  ...networkKinds,
  ...appsKinds,
  ...eventsKinds,
  ...accessKinds,
  ...storageKinds,
  ...podClassKinds,
  ...policyKinds,
  ...otherKinds,
];
