// What was last reported about each claim, so that the end of an abnormal condition is reported once. After a restart it is
// read back from the Events. Writes Events.

import { events, type PersistentVolumeClaim } from '../../api/kinds.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';

const ABNORMAL = 'VolumeConditionAbnormal';
const NORMAL = 'VolumeConditionNormal';

export class ClaimConditions {
  readonly #kube: KubeClient;
  readonly #recorder: EventRecorder;
  readonly #driver: DriverName;
  /** UIDs of the claims whose volumes were last reported as abnormal. */
  readonly #abnormal = new Set<string>();

  constructor(options: { kube: KubeClient; recorder: EventRecorder; driver: DriverName }) {
    this.#kube = options.kube;
    this.#recorder = options.recorder;
    this.#driver = options.driver;
  }

  /** What a previous process reported last, as far as the Events still show it. */
  async recall(signal: AbortSignal): Promise<void> {
    const { items } = await this.#kube.list(events, {
      fieldSelector: 'involvedObject.kind=PersistentVolumeClaim',
      signal,
    });
    const reported = items
      .filter(
        ({ reason = '', source }) =>
          [ABNORMAL, NORMAL].includes(reason) && source?.component?.endsWith(this.#driver),
      )
      .map(({ reason, involvedObject, lastTimestamp, metadata }) => ({
        uid: involvedObject.uid ?? '',
        isAbnormal: reason === ABNORMAL,
        at: lastTimestamp ?? metadata.creationTimestamp,
      }))
      .toSorted((a, b) => a.at.localeCompare(b.at));
    for (const { uid, isAbnormal } of reported) this.#abnormal[isAbnormal ? 'add' : 'delete'](uid);
  }

  report(claim: PersistentVolumeClaim, { abnormal, message }: { abnormal: boolean; message: string }): void {
    const { uid } = claim.metadata;
    if (abnormal) {
      this.#abnormal.add(uid);
      this.#recorder.event(claim, 'Warning', ABNORMAL, message || 'The driver reports an abnormal condition');
    } else if (this.#abnormal.delete(uid)) {
      this.#recorder.event(claim, 'Normal', NORMAL, 'The volume is in a normal condition again');
    }
  }
}
