// Maps CSIDriver objects of the design documents' CRD to today's CSIDriver objects. Watches both kinds, of which the CRD
// may not be installed; writes today's objects that it made itself, and events on the CRD's objects.

import { csiDriverDesigns, csiDrivers } from '../../api/kinds.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { isAlreadyExists } from '../../runtime/kube/kube-error.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, failed } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { decideMapping, type MappingStep } from './decide-mapping.ts';

const BACKOFF = { startMs: 100, maxMs: 60_000 };

/** The cache may never show that object, if it is deleted first: then its deletion is no event. */
const createdUnseen = failed({ why: 'the cache does not show the CSIDriver yet', quiet: true });

export function createCsiDriverMapping(ports: ControllerPorts): Controller {
  const { kube, informers, recorder } = ports;
  const log = ports.log.with({ controller: 'csidriver-mapping' });
  const designs = informers.of(csiDriverDesigns, { optional: true });
  const drivers = informers.of(csiDrivers);

  const loop = createLoop({
    ...ports,
    log,
    name: 'csidriver-mapping',
    workers: 1,
    backoff: BACKOFF,
    async reconcile(name, { signal }) {
      const steps = decideMapping(designs.get(name), drivers.get(name));
      for (const step of steps) await perform(name, step, signal);
      const isCreated = steps.some((step) => step.do === 'create');
      return isCreated && drivers.get(name) === undefined ? createdUnseen : done;
    },
  });

  async function perform(name: string, step: MappingStep, signal: AbortSignal): Promise<void> {
    const design = designs.get(name);
    const today = drivers.get(name);
    switch (step.do) {
      case 'event':
        if (design) recorder.event(design, 'Warning', step.reason, step.message);
        return;
      case 'create':
        try {
          await kube.create(csiDrivers, step.object, { signal });
        } catch (error) {
          // The next run checks its owner, once the watch has brought it.
          if (isAlreadyExists(error)) return;
          const message = `cannot create CSIDriver ${name} of storage.k8s.io/v1: ${errorMessage(error)}`;
          if (design && !signal.aborted) recorder.event(design, 'Warning', 'CSIDriverNotMapped', message);
          throw error;
        }
        return;
      case 'patch':
        await kube.patch(csiDrivers, { name }, { spec: step.spec }, { type: 'merge', signal });
        return;
      case 'delete': {
        const { uid = '', resourceVersion = '' } = today?.metadata ?? {};
        await ifThere(kube.delete(csiDrivers, { name }, { preconditions: { uid, resourceVersion }, signal }));
      }
    }
  }

  const look = ({ metadata }: { metadata: { name: string } }): void => loop.add(metadata.name);
  const each = {
    added: look,
    updated: (_before: unknown, after: { metadata: { name: string } }) => look(after),
  };
  designs.subscribe({ ...each, deleted: look });
  drivers.subscribe({ ...each, deleted: look });

  return {
    name: 'csidriver-mapping-controller',
    async run(signal) {
      if (await cachesSynced([designs, drivers], signal)) await loop.run(signal);
    },
  };
}
