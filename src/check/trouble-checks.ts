// Checks of concurrent calls and of calls that time out. After a time-out the caller retries, as the sidecars and the
// kubelet do; the result must then be the same, whichever of the calls did the work.

import { CsiError, codeOf } from '../csi/csi-error.ts';
import type { Check } from './check.ts';
import { type DriverUnderTest, expect } from './driver-under-test.ts';
import { MountedVolume } from './mounted-volume.ts';
import { listed } from './volume-checks.ts';

const MAKES = ['CREATE_DELETE_VOLUME'] as const;
/** Codes after which a call is retried: another one is in flight, the driver is busy, or the call timed out. */
const AGAIN = new Set(['ABORTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'RESOURCE_EXHAUSTED']);
const PAUSE_MS = 50;
/** Time-outs of calls: at once, and while the driver may be in the middle of the work. */
const PATIENCE_MS = [1, 2, 5, 10, 20];

export const troubleChecks: readonly Check[] = [
  {
    group: 'Concurrency',
    title: 'concurrent identical CreateVolume calls create one volume',
    section: 'concurrency',
    needs: MAKES,
    async run(driver) {
      const name = driver.name('volume');
      const made = await atOnce(driver, () => untilDone(driver, () => driver.createVolume(name)));
      const ids = new Set(made.map(({ volumeId }) => volumeId));
      expect(ids.size === 1, `one name, ${ids.size} volumes: ${[...ids].join(', ')}`);
      if (!driver.can.controller.has('LIST_VOLUMES')) return;
      const [id] = ids;
      const times = (await listed(driver, 0)).filter((each) => each === id).length;
      expect(times === 1, `${id} is listed ${times} times`);
    },
  },
  {
    group: 'Concurrency',
    title: 'different volumes are created and deleted concurrently',
    section: 'concurrency',
    needs: MAKES,
    async run(driver) {
      const made = await atOnce(driver, () => untilDone(driver, () => driver.createVolume()));
      expect(new Set(made.map(({ volumeId }) => volumeId)).size === made.length, 'two names, one volume');
      await Promise.all(made.map(({ volumeId }) => untilDone(driver, () => driver.deleteVolume(volumeId))));
    },
  },
  {
    group: 'Concurrency',
    title: 'concurrent identical DeleteVolume calls all succeed',
    section: 'concurrency',
    needs: MAKES,
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      await atOnce(driver, () => untilDone(driver, () => driver.deleteVolume(volumeId)));
    },
  },
  {
    group: 'Concurrency',
    title: 'CreateVolume succeeds during and after a concurrent DeleteVolume',
    section: 'concurrency',
    needs: MAKES,
    async run(driver) {
      const name = driver.name('volume');
      const { volumeId } = await driver.createVolume(name);
      await Promise.all([
        untilDone(driver, () => driver.createVolume(name)),
        untilDone(driver, () => driver.deleteVolume(volumeId)),
      ]);
      await untilDone(driver, () => driver.createVolume(name));
    },
  },
  {
    group: 'Concurrency',
    title: 'concurrent stage and publish mount once; one unpublish and unstage undo them',
    section: 'concurrency',
    needs: MAKES,
    mounts: true,
    async run(driver) {
      const mounted = await MountedVolume.create(driver);
      await mounted.attach();
      await atOnce(driver, () => untilDone(driver, () => mounted.stage()));
      await atOnce(driver, () => untilDone(driver, () => mounted.publish()));
      await mounted.unpublish();
      await mounted.unstage();
      await mounted.detach();
    },
  },
  {
    group: 'Lost responses',
    title: 'CreateVolume retried after a time-out creates one volume',
    section: 'timeouts',
    needs: MAKES,
    async run(driver) {
      const name = driver.name('volume');
      for (const timeoutMs of PATIENCE_MS) {
        await givenUp(driver.controller.createVolume(driver.createRequest(name), { timeoutMs }));
      }
      const first = await untilDone(driver, () => driver.createVolume(name));
      const again = await driver.createVolume(name);
      expect(
        first.volumeId === again.volumeId,
        `one name, two volumes: ${first.volumeId}, ${again.volumeId}`,
      );
    },
  },
  {
    group: 'Lost responses',
    title: 'a volume whose CreateVolume timed out can be found by a retry and deleted',
    section: 'timeouts',
    needs: [...MAKES, 'LIST_VOLUMES'],
    async run(driver) {
      const before = new Set(await listed(driver, 0));
      const name = driver.name('volume');
      for (const timeoutMs of PATIENCE_MS) {
        await givenUp(driver.controller.createVolume(driver.createRequest(name), { timeoutMs }));
      }
      const { volumeId } = await untilDone(driver, () => driver.createVolume(name));
      await untilDone(driver, () => driver.deleteVolume(volumeId));
      const left = (await listed(driver, 0)).filter((id) => !before.has(id));
      expect(left.length === 0, `left behind: ${left.join(', ')}`);
    },
  },
  {
    group: 'Lost responses',
    title: 'DeleteVolume retried after a time-out deletes the volume',
    section: 'timeouts',
    needs: MAKES,
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      for (const timeoutMs of PATIENCE_MS)
        await givenUp(
          driver.controller.deleteVolume(
            { volumeId, secrets: driver.options.secrets('DeleteVolumeSecret') },
            { timeoutMs },
          ),
        );
      await untilDone(driver, () => driver.deleteVolume(volumeId));
      if (!driver.can.controller.has('LIST_VOLUMES')) return;
      expect(!(await listed(driver, 0)).includes(volumeId), `${volumeId} is still listed`);
    },
  },
  {
    group: 'Lost responses',
    title: 'stage and publish are completed by a retry after a time-out, and can be undone',
    section: 'timeouts',
    needs: MAKES,
    mounts: true,
    async run(driver) {
      const mounted = await MountedVolume.create(driver);
      await mounted.attach();
      for (const timeoutMs of PATIENCE_MS) await givenUp(mounted.stage(timeoutMs));
      await untilDone(driver, () => mounted.stage());
      for (const timeoutMs of PATIENCE_MS) await givenUp(mounted.publish(timeoutMs));
      await untilDone(driver, () => mounted.publish());
      await untilDone(driver, () => mounted.unpublish());
      await untilDone(driver, () => mounted.unstage());
      await mounted.detach();
    },
  },
  {
    group: 'Lost responses',
    title: 'unstage and unpublish undo a stage or publish that timed out',
    section: 'timeouts',
    needs: MAKES,
    mounts: true,
    async run(driver) {
      for (const timeoutMs of PATIENCE_MS) {
        const mounted = await MountedVolume.create(driver);
        await mounted.attach();
        await givenUp(mounted.stage(timeoutMs));
        await untilDone(driver, () => mounted.unstage());
        await untilDone(driver, () => mounted.stage());
        await givenUp(mounted.publish(timeoutMs));
        await untilDone(driver, () => mounted.unpublish());
        await untilDone(driver, () => mounted.unstage());
        await mounted.detach();
        await untilDone(driver, () => driver.deleteVolume(mounted.volumeId));
      }
    },
  },
];

const atOnce = <T>({ options }: DriverUnderTest, call: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: options.parallel }, call));

/** Retries until there is an answer, as the sidecars do. */
async function untilDone<T>({ clock, options }: DriverUnderTest, call: () => Promise<T>): Promise<T> {
  const limitMs = clock.monotonicMs() + options.timeoutMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!AGAIN.has(codeOf(error) ?? '') || clock.monotonicMs() > limitMs) throw error;
    }
    await clock.sleep(PAUSE_MS);
  }
}

/** Awaits the call and ignores its CSI error. */
async function givenUp(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof CsiError)) throw error;
  }
}
