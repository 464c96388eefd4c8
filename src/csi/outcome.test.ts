import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allGrpcCodes, type GrpcCode, grpcCodes } from '../wire/grpc/grpc-code.ts';
import { CsiError } from './csi-error.ts';
import { Controller, GroupController, Identity, Node, SnapshotMetadata } from './generated/csi/v1/csi_pb.ts';
import {
  type CallOutcome,
  type CsiOperation,
  type EarlierCalls,
  isFinal,
  outcomeOf,
  outcomes,
  provesNothingMade,
} from './outcome.ts';

// The rows as letters, one a code in the order of their numbers: f(inal), r(efused: final, and nothing was made),
// i(nfeasible, also refused), m(aybe in progress).
//                              0123456789…
const change = 'fmfrmrrfmrmrrfmff';
const read = 'fffffffffffffffff';
const table: Record<CsiOperation, string> = {
  GetPluginInfo: read,
  GetPluginCapabilities: read,
  Probe: read,
  CreateVolume: 'fmfimrrfrrmrrfmff',
  DeleteVolume: change,
  ControllerPublishVolume: change,
  ControllerUnpublishVolume: change,
  ValidateVolumeCapabilities: read,
  ListVolumes: read,
  GetCapacity: read,
  ControllerGetCapabilities: read,
  CreateSnapshot: 'fmfrmrifmrmrrfmff',
  DeleteSnapshot: 'fmfimrrfmrmrrfmff',
  ListSnapshots: read,
  GetSnapshot: read,
  ControllerExpandVolume: 'fmfimirfmrmirfmff',
  ControllerGetVolume: read,
  ControllerModifyVolume: 'fmfimrrfmrmrrfmff',
  GroupControllerGetCapabilities: read,
  CreateVolumeGroupSnapshot: 'fmfrmrifmrmrrfmff',
  DeleteVolumeGroupSnapshot: change,
  GetVolumeGroupSnapshot: read,
  GetMetadataAllocated: read,
  GetMetadataDelta: read,
  NodeStageVolume: change,
  NodeUnstageVolume: change,
  NodePublishVolume: change,
  NodeUnpublishVolume: change,
  NodeGetVolumeStats: read,
  NodeExpandVolume: 'fmfimirfmrmirfmff',
  NodeGetCapabilities: change,
  NodeGetInfo: read,
};
const letters: Record<string, { outcome: CallOutcome; refused: boolean }> = {
  f: { outcome: 'final', refused: false },
  r: { outcome: 'final', refused: true },
  i: { outcome: 'infeasible', refused: true },
  m: { outcome: 'maybe-in-progress', refused: false },
};
const operations = Object.keys(table) as CsiOperation[];
const failure = (code: GrpcCode | number): CsiError => new CsiError({ code, message: 'no' });

describe('outcomeOf', () => {
  it('knows every call of the specification and no other', () => {
    const services = [Identity, Controller, GroupController, SnapshotMetadata, Node];
    const names = services.flatMap((service) => service.methods.map((method) => method.name));
    assert.deepEqual(Object.keys(outcomes).sort(), names.sort());
  });

  for (const operation of operations) {
    it(`gives each of the 17 codes its meaning for ${operation}`, () => {
      const row = table[operation];
      assert.equal(row.length, 17);
      for (const code of allGrpcCodes) {
        const { why, ...verdict } = outcomeOf(operation, failure(code));
        assert.deepEqual(verdict, letters[row.charAt(grpcCodes[code])], `${operation} ${code}`);
        assert.notEqual(why, '');
      }
    });
  }

  it('asks for another node only when CreateVolume finds no room and a node was selected', () => {
    for (const operation of operations) {
      for (const code of allGrpcCodes) {
        const { outcome } = outcomeOf(operation, failure(code), { nodeSelected: true });
        const expected = operation === 'CreateVolume' && code === 'RESOURCE_EXHAUSTED';
        assert.equal(outcome === 'reschedule', expected, `${operation} ${code}`);
      }
    }
  });

  const uncertain: { name: string; error: unknown }[] = [
    { name: 'an error that is not from CSI', error: new Error('boom') },
    { name: 'something that is no error', error: undefined },
    { name: 'a code gRPC does not define', error: failure(42) },
    {
      name: 'an answer lost on our side',
      error: new CsiError({ code: 'INTERNAL', message: '', uncertain: true }),
    },
  ];
  for (const { name, error } of uncertain) {
    it(`does not take ${name} for the end of a change, and of nothing else`, () => {
      for (const operation of operations) {
        assert.equal(
          isFinal(outcomeOf(operation, error, { nodeSelected: true })),
          table[operation] === read,
          operation,
        );
      }
    });
  }
});

describe('provesNothingMade', () => {
  const uncertain: GrpcCode[] = ['CANCELLED', 'DEADLINE_EXCEEDED', 'ABORTED', 'UNAVAILABLE'];
  const failures: GrpcCode[] = ['UNKNOWN', 'INTERNAL', 'DATA_LOSS', 'PERMISSION_DENIED', 'UNAUTHENTICATED'];
  const codes = allGrpcCodes.filter((code) => code !== 'OK');
  const proves = (operation: CsiOperation, error: unknown, earlier: EarlierCalls): boolean =>
    provesNothingMade(outcomeOf(operation, error), earlier);

  it('after a first call any final error proves that nothing was made, after others only a rejection of the same request', () => {
    for (const code of codes) {
      const isFirst = proves('CreateVolume', failure(code), 'none');
      assert.equal(isFirst, !uncertain.includes(code), `${code}, first`);
      const isSame = proves('CreateVolume', failure(code), 'the same');
      assert.equal(isSame, isFirst && !failures.includes(code), `${code}, after the same`);
      assert.equal(proves('CreateVolume', failure(code), 'something else'), false, `${code}, after another`);
    }
  });

  it('differs for a snapshot in RESOURCE_EXHAUSTED, which may mean load there', () => {
    for (const code of codes.filter((each) => each !== 'RESOURCE_EXHAUSTED')) {
      for (const earlier of ['none', 'the same', 'something else'] as const) {
        const ofVolume = proves('CreateVolume', failure(code), earlier);
        assert.equal(proves('CreateSnapshot', failure(code), earlier), ofVolume, `${code}, ${earlier}`);
      }
    }
    assert.equal(proves('CreateVolume', failure('RESOURCE_EXHAUSTED'), 'the same'), true);
    assert.equal(proves('CreateSnapshot', failure('RESOURCE_EXHAUSTED'), 'none'), false);
  });

  it('concludes nothing from errors that are not the driver’s', () => {
    assert.equal(proves('CreateVolume', new Error('what?'), 'none'), false);
  });
});
