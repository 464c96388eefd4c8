import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allGrpcCodes, type GrpcCode, grpcCodes } from '../wire/grpc/grpc-code.ts';
import { CsiError } from './csi-error.ts';
import { Controller, GroupController, Identity, Node, SnapshotMetadata } from './generated/csi/v1/csi_pb.ts';
import { type CallOutcome, type CsiOperation, isFinal, outcomeOf, outcomes } from './outcome.ts';

// The rows as letters, one a code in the order of their numbers: f(inal), i(nfeasible), m(aybe in progress).
//                              0123456789…
const change = 'fmffmfffmfmfffmff';
const read = 'fffffffffffffffff';
const table: Record<CsiOperation, string> = {
  GetPluginInfo: read,
  GetPluginCapabilities: read,
  Probe: read,
  CreateVolume: 'fmfimfifffmiffmff',
  DeleteVolume: change,
  ControllerPublishVolume: change,
  ControllerUnpublishVolume: change,
  ValidateVolumeCapabilities: read,
  ListVolumes: read,
  GetCapacity: read,
  ControllerGetCapabilities: read,
  CreateSnapshot: 'fmffmfifmfmfffmff',
  DeleteSnapshot: 'fmfimfffmfmfffmff',
  ListSnapshots: read,
  GetSnapshot: read,
  ControllerExpandVolume: 'fmfimiffmfmiffmff',
  ControllerGetVolume: read,
  ControllerModifyVolume: 'fmfimfffmfmfffmff',
  GroupControllerGetCapabilities: read,
  CreateVolumeGroupSnapshot: 'fmffmfifmfmfffmff',
  DeleteVolumeGroupSnapshot: change,
  GetVolumeGroupSnapshot: read,
  GetMetadataAllocated: read,
  GetMetadataDelta: read,
  NodeStageVolume: change,
  NodeUnstageVolume: change,
  NodePublishVolume: change,
  NodeUnpublishVolume: change,
  NodeGetVolumeStats: read,
  NodeExpandVolume: 'fmfimiffmfmiffmff',
  NodeGetCapabilities: change,
  NodeGetInfo: read,
};
const letters: Record<string, CallOutcome> = { f: 'final', i: 'infeasible', m: 'maybe-in-progress' };
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
        const verdict = outcomeOf(operation, failure(code));
        assert.equal(verdict.outcome, letters[row.charAt(grpcCodes[code])], `${operation} ${code}`);
        assert.notEqual(verdict.why, '');
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
