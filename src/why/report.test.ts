import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DriverName, NodeName } from '../csi/names/driver-name.ts';
import { type Attempt, adviceOn, canEnd, causeText } from './advice.ts';
import { reportOf } from './report.ts';

const attempt: Attempt = {
  operation: 'CreateVolume',
  driver: 'd.csi.test' as DriverName,
  object: 'pvc data -n ns',
  namespace: 'ns',
  storageClass: 'fast',
};
const onNode: Attempt = { ...attempt, operation: 'NodeStageVolume', node: 'n1' as NodeName };

const cases: { text: string; attempt?: Attempt; cause: string; todo: RegExp; canEnd: boolean }[] = [
  {
    text: 'failed to provision volume with StorageClass "fast": rpc error: code = OutOfRange desc = at most 1 TiB',
    cause: 'CreateVolume of driver d.csi.test failed: OUT_OF_RANGE: at most 1 TiB',
    todo: /^ask for a size that the driver allows/,
    canEnd: false,
  },
  {
    text: 'failed to provision volume with StorageClass "fast": error getting secret key in namespace ns: secrets "key" not found',
    cause: 'error getting secret key in namespace ns: secrets "key" not found',
    todo: /^create Secret ns\/key/,
    canEnd: false,
  },
  {
    text: 'failed to provision volume with StorageClass "fast": rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /csi/csi.sock: connect: connection refused"',
    cause:
      'driver d.csi.test is down: nothing answers at /csi/csi.sock (connection error: desc = "transport: Error while dialing: dial unix: connect: connection refused")',
    todo: /^start driver d\.csi\.test/,
    canEnd: true,
  },
  {
    text: 'MountVolume.MountDevice failed for volume "pvc-1" : rpc error: code = Internal desc = mount failed: exit status 32\nMounting command: mount',
    attempt: onNode,
    cause:
      'NodeStageVolume of driver d.csi.test failed on n1: INTERNAL: mount failed: exit status 32 Mounting command: mount',
    todo: /^read the log of driver d\.csi\.test on n1/,
    canEnd: true,
  },
  {
    text: 'NodeStageVolume at /csi.sock failed: UNAVAILABLE: connect ECONNREFUSED /csi.sock; check that the driver runs and listens there',
    attempt: onNode,
    cause: 'driver d.csi.test is down on n1: nothing answers at /csi.sock (connect ECONNREFUSED)',
    todo: /^start driver/,
    canEnd: true,
  },
  {
    text: 'CreateVolume at /csi.sock failed: UNKNOWN (code 42, not defined by gRPC): odd',
    cause: 'CreateVolume of driver d.csi.test failed: UNKNOWN: odd',
    todo: /^read the log/,
    canEnd: true,
  },
  {
    text: 'CreateVolume failed: SOMETHING: not a code',
    cause: 'CreateVolume failed: SOMETHING: not a code',
    todo: /^read the log/,
    canEnd: true,
  },
  {
    text: 'CreateVolume at /csi.sock failed: ABORTED: an operation is pending; a volume may exist, asking again until that is certain',
    cause: 'CreateVolume of driver d.csi.test failed: ABORTED: an operation is pending',
    todo: /^wait/,
    canEnd: true,
  },
];

for (const each of cases) {
  test(`[WHY-1] ${each.text.slice(0, 90)}`, () => {
    const at = each.attempt ?? attempt;
    const report = reportOf(each.text);
    assert.equal(causeText(report, at), each.cause);
    assert.match(adviceOn(report, at)[0] ?? '', each.todo);
    assert.equal(canEnd(report, at), each.canEnd);
    // What repeats does not end by itself, except for a call that another one waits for.
    assert.equal(canEnd({ ...report, times: 2 }, at), report.code === 'ABORTED');
  });
}
