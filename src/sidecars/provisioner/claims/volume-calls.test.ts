import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CsiError } from '../../../csi/csi-error.ts';
import { allGrpcCodes, type GrpcCode } from '../../../wire/grpc/grpc-code.ts';
import { createFailure } from './volume-calls.ts';

const uncertain: GrpcCode[] = ['CANCELLED', 'DEADLINE_EXCEEDED', 'ABORTED', 'UNAVAILABLE'];
const mishaps: GrpcCode[] = ['UNKNOWN', 'INTERNAL', 'DATA_LOSS', 'PERMISSION_DENIED', 'UNAUTHENTICATED'];

const noVolume = (code: GrpcCode, earlier: 'none' | 'the same' | 'something else') =>
  createFailure(new CsiError({ code, message: 'm' }), { nodeSelected: false, earlier }).noVolume;

test('what a failed CreateVolume says about whether a volume exists', () => {
  for (const code of allGrpcCodes.filter((each) => each !== 'OK')) {
    assert.equal(noVolume(code, 'none'), !uncertain.includes(code), `${code}, first`);
    const isAnswer = !uncertain.includes(code) && !mishaps.includes(code);
    assert.equal(noVolume(code, 'the same'), isAnswer, `${code}, after the same`);
    assert.equal(noVolume(code, 'something else'), false, `${code}, after something else`);
  }
  const foreign = createFailure(new Error('what?'), { nodeSelected: false, earlier: 'none' });
  assert.equal(foreign.noVolume, false);
});
