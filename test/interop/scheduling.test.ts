// Scheduling and attaching, on the embedded API server and on a real kube-apiserver.

import { sameOnBothServers } from './component-tests.ts';

sameOnBothServers([
  'scheduler/scheduler',
  'scheduler/scheduler-races',
  'attach-detach/attach-detach',
  'attach-detach/attach-detach-races',
]);
