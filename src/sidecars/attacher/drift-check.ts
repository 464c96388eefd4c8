// Asks the driver at intervals which volumes are published where (ListVolumes) and hands attachments that have come
// loose to the attachment loop, which publishes them again. Reads only; see drift-list.ts for what counts as loose.

import type { VolumeAttachment } from '../../api/kinds.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { listVolumes } from '../common/list-volumes.ts';
import type { Candidate, DriftList, Listing } from './drift-list.ts';

/** A suspicion is looked into sooner than the next round would. */
const CONFIRM_AFTER_MS = 10_000;

export interface DriftCheckOptions {
  csi: CsiTransport;
  timeoutMs: number;
  /** `--max-entries`: volumes a page; 0: as the driver likes. */
  maxEntries: number;
  intervalMs: number;
  drift: DriftList;
  candidates(): Candidate[];
  attachment(key: string): VolumeAttachment | undefined;
  repair(key: string): void;
  clock: Clock;
  log: Log;
}

/** Runs until aborted. A listing that fails is tried again at the next interval. */
export async function runDriftCheck(options: DriftCheckOptions, signal: AbortSignal): Promise<void> {
  const { intervalMs, drift, clock, log } = options;
  let pauseMs = intervalMs;
  while (!signal.aborted) {
    try {
      await clock.sleep(pauseMs, signal);
      pauseMs = intervalMs;
      const before = options.candidates();
      if (before.length === 0) continue;
      const listing = await publishedVolumes(options, signal);
      const { confirmed, suspects } = drift.compare(before, listing, options.attachment);
      if (suspects > 0) pauseMs = Math.min(intervalMs, CONFIRM_AFTER_MS);
      for (const key of confirmed) {
        log.warn('The driver lists a volume as not published although it is attached; publishing it again', {
          volumeAttachment: key,
        });
        options.repair(key);
      }
    } catch (error) {
      if (signal.aborted) return;
      log.error('Could not compare attachments with the volumes the driver lists, will try again', error, {
        retryInMs: pauseMs,
      });
    }
  }
}

async function publishedVolumes(options: DriftCheckOptions, signal: AbortSignal): Promise<Listing> {
  const published = new Map<string, Set<string>>();
  const known = new Set<string>();
  for await (const { volume, status } of listVolumes(options.csi, { ...options, signal })) {
    if (volume === undefined) continue;
    known.add(volume.volumeId);
    if (status !== undefined) published.set(volume.volumeId, new Set(status.publishedNodeIds));
  }
  return { published, known };
}
