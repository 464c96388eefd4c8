// The auditor's connection to a driver: without faults, and in the history, so that the rules judge its calls as they do all
// others.

import type { CsiTransport } from '../../csi/client/transport.ts';
import { codeOf } from '../../csi/csi-error.ts';
import { create } from '../../wire/protobuf/create.ts';
import { callFacts } from '../call-facts.ts';
import type { StorageBackend } from '../storage-backend.ts';

const READS = /^(?:Get|List|Probe|Controller(?:Group)?Get|GroupControllerGet)/;
const ACTOR = 'auditor';

export function recordedLink(backend: StorageBackend, nextId: () => number): CsiTransport {
  return {
    async call(method, init, options) {
      const request = create(method.input, init);
      if (READS.test(method.name)) return backend.controller.call(method, request as never, options);
      const call = callFacts(method, request, backend.plan.name, '');
      const about = { id: nextId(), actor: ACTOR, call };
      backend.add({ kind: 'call', ...about });
      backend.add({ kind: 'delivered', ...about });
      try {
        const answer = await backend.controller.call(method, request as never, options);
        backend.add({ kind: 'returned', ...about, code: 'OK' });
        return answer;
      } catch (error) {
        backend.add({ kind: 'returned', ...about, code: codeOf(error) ?? 'UNKNOWN' });
        throw error;
      }
    },
  };
}
