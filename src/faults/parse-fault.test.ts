// The grammar of faults: what is understood, how it is written back, and what refusals say.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Fault, formatFault } from './fault.ts';
import { FaultError, parseFault } from './parse-fault.ts';
import { CSI_FAULTS, FAULT_WORDS } from './vocabulary.ts';

describe('[FLT-1] a fault is read', () => {
  const cases: readonly { text: string; fault: Fault; written?: string }[] = [
    {
      text: 'NodeStageVolume fail UNAVAILABLE 30%',
      fault: {
        call: 'NodeStageVolume',
        action: { fault: 'csi-refused', code: 'UNAVAILABLE' },
        percent: 30,
      },
    },
    {
      text: 'CreateVolume delay 5s',
      fault: { call: 'CreateVolume', action: { fault: 'csi-slow', delayMs: 5000 } },
    },
    {
      text: 'CreateVolume delay past-deadline once',
      fault: { call: 'CreateVolume', action: { fault: 'csi-past-deadline' }, times: 1 },
    },
    {
      text: 'CreateVolume lose-answer',
      fault: { call: 'CreateVolume', action: { fault: 'csi-lost-after', isSilent: false } },
    },
    {
      text: 'CreateVolume lose-request silently 3x',
      fault: { call: 'CreateVolume', action: { fault: 'csi-lost-before', isSilent: true }, times: 3 },
    },
    { text: 'Node* duplicate', fault: { call: 'Node*', action: { fault: 'csi-duplicated' } } },
    {
      text: 'crash provisioner after CreateVolume',
      fault: { call: 'CreateVolume', action: { fault: 'csi-crash-after', component: 'provisioner' } },
    },
    {
      text: 'crash node-1 before NodeStageVolume driver=a.b volume=v-1 node=node-1 12.5% 2x',
      fault: {
        call: 'NodeStageVolume',
        action: { fault: 'csi-crash-before', component: 'node-1' },
        driver: 'a.b',
        volume: 'v-1',
        node: 'node-1',
        percent: 12.5,
        times: 2,
      },
    },
    {
      text: '  CreateVolume   csi-lost-after  1x ',
      fault: { call: 'CreateVolume', action: { fault: 'csi-lost-after', isSilent: false }, times: 1 },
      written: 'CreateVolume lose-answer once',
    },
    {
      text: 'CreateVolume fail unavailable',
      fault: { call: 'CreateVolume', action: { fault: 'csi-refused', code: 'UNAVAILABLE' } },
      written: 'CreateVolume fail UNAVAILABLE',
    },
  ];
  for (const { text, fault, written = text } of cases) {
    it(text.trim(), () => {
      assert.deepEqual(parseFault(text), fault);
      assert.equal(formatFault(fault), written);
      assert.deepEqual(parseFault(formatFault(fault)), fault);
    });
  }

  it('under every name that the simulation has for faults of calls', () => {
    const kinds = new Set(cases.map(({ fault }) => fault.action.fault));
    assert.deepEqual([...kinds].sort(), [...CSI_FAULTS].sort());
    assert.deepEqual(Object.keys(FAULT_WORDS).sort(), [...CSI_FAULTS].sort());
  });
});

describe('[FLT-1] what is no fault is refused, with the nearest word', () => {
  const cases: readonly [string, RegExp][] = [
    ['', /a fault is empty/],
    ['CreateVolum fail UNAVAILABLE', /no CSI call "CreateVolum"; did you mean CreateVolume\?/],
    ['createvolume delay 1s', /did you mean CreateVolume\?/],
    ['MountDisk delay 1s', /no CSI call "MountDisk"; these are known: .*NodeStageVolume/],
    ['Nod3* delay 1s', /no CSI call "Nod3\*"/],
    ['GetInfo delay 1s', /no CSI call "GetInfo"/],
    ['CreateVolume', /does not say what happens to the call: fail, delay/],
    ['CreateVolume explode', /"explode" is not something that happens to a call/],
    ['CreateVolume lose-answr', /did you mean lose-answer\?/],
    ['CreateVolume fail', /fail needs a gRPC code/],
    ['CreateVolume fail UNAVAILBLE', /"UNAVAILBLE" is not a gRPC code; did you mean UNAVAILABLE\?/],
    ['CreateVolume fail OK', /OK is not a failure/],
    ['CreateVolume delay', /delay needs a time .* got nothing/],
    ['CreateVolume delay 5', /delay needs a time .* got "5"/],
    ['CreateVolume delay -1s', /delay needs a time/],
    ['CreateVolume delay 2h', /up to 1h/],
    ['CreateVolume lose-answer 0x', /"0x" does not select calls/],
    ['CreateVolume lose-answer 0%', /"0%" does not select calls/],
    ['CreateVolume lose-answer 101%', /"101%" does not select calls/],
    ['CreateVolume lose-answer onse', /did you mean once\?/],
    ['CreateVolume lose-answer once 3x', /"3x" is a second times/],
    ['CreateVolume lose-answer drivr=a', /"drivr=a" does not select calls/],
    ['crash provisioner', /write crash COMPONENT before\|after CALL/],
    ['crash provisioner while CreateVolume', /before\|after/],
    ['crash provisioner after CreateVolum', /did you mean CreateVolume\?/],
    ['GetMetadataDelta duplicate', /answered by a stream/],
  ];
  for (const [text, why] of cases) {
    it(JSON.stringify(text), () => {
      assert.throws(
        () => parseFault(text),
        (error: Error) => error instanceof FaultError && why.test(error.message),
      );
    });
  }
});
