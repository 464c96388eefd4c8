import { test } from 'node:test';
import type { PersistentVolumeClaim, StorageClass } from '../../src/api/kinds.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { ClaimProblem } from '../../src/sidecars/provisioner/planning/claim-problem.ts';
import { planVolume, type VolumePlan } from '../../src/sidecars/provisioner/planning/plan-volume.ts';
import { DEFAULT_PROVISIONER_FLAGS } from '../../src/sidecars/provisioner/provisioner-flags.ts';
import { agree, canonicalText, type Difference, recorded } from './recorded.ts';

interface Capability {
  mode: string;
  block?: boolean;
  fsType?: string;
  flags?: string[];
}
interface Plan {
  name: string;
  bytes: string;
  parameters: Record<string, string>;
  capabilities: Capability[];
  fsType: string;
  /** `NAMESPACE/NAME` by call. */
  secrets: Record<string, string>;
}
interface Case {
  /** Called `data` in `ns`, with the annotation team=blue. */
  claim: { modes: string[]; size: string; block?: boolean; selector?: boolean };
  parameters: Record<string, string>;
  mountOptions?: string[];
  singleNodeMultiWriter?: boolean;
  extraCreateMetadata?: boolean;
  defaultFsType?: string;
  uuidLength: number;
  answer: { error: true } | Plan;
}

const stamp = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

function plan(given: Case): Plan | undefined {
  const { claim, parameters, mountOptions, uuidLength } = given;
  const input = {
    claim: {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        ...stamp,
        name: 'data',
        namespace: 'ns',
        uid: '11111111-2222-3333-4444-555555555555',
        annotations: { team: 'blue' },
      },
      spec: {
        accessModes: claim.modes,
        volumeMode: claim.block ? 'Block' : 'Filesystem',
        resources: { requests: { storage: claim.size } },
        ...(claim.selector && { selector: {} }),
      },
    } satisfies PersistentVolumeClaim,
    storageClass: {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { ...stamp, name: 'c', uid: 'c' },
      provisioner: 'd',
      parameters,
      ...(mountOptions && { mountOptions }),
    } satisfies StorageClass,
    mutableParameters: undefined,
    source: undefined,
    topology: undefined,
  };
  try {
    return planOf(
      planVolume(input, {
        flags: {
          ...DEFAULT_PROVISIONER_FLAGS,
          volumeNameUuidLength: uuidLength,
          defaultFstype: given.defaultFsType ?? '',
          extraCreateMetadata: given.extraCreateMetadata ?? false,
        },
        driver: { controller: new Set(given.singleNodeMultiWriter ? ['SINGLE_NODE_MULTI_WRITER'] : []) },
      }),
    );
  } catch (error) {
    if (error instanceof ClaimProblem) return undefined;
    throw error;
  }
}

const nameOf = (mode: number | undefined): string =>
  Object.entries(Mode).find(([, value]) => value === mode)?.[0] ?? '';

function planOf(made: VolumePlan): Plan {
  return {
    name: made.volumeName,
    bytes: String(made.capacityBytes),
    parameters: { ...made.parameters },
    capabilities: made.capabilities.map(({ accessMode, accessType }): Capability => {
      const mode = nameOf(accessMode?.mode);
      if (accessType.case !== 'mount') return { mode, block: true };
      const { fsType, mountFlags } = accessType.value;
      return { mode, fsType, ...(mountFlags.length > 0 && { flags: mountFlags }) };
    }),
    fsType: made.fsType,
    secrets: Object.fromEntries(
      Object.entries(made.secretRefs).map(([kind, ref]) => [kind, `${ref?.namespace}/${ref?.name}`]),
    ),
  };
}

/** The official plan, without what means nothing: the file system of a block volume, and old secret keys. */
function theirs({ claim, answer }: Case): Plan | undefined {
  if ('error' in answer) return undefined;
  const parameters = Object.fromEntries(
    Object.entries(answer.parameters ?? {}).filter(([key]) => !OLD_KEY.test(key)),
  );
  return { ...answer, parameters, fsType: claim.block ? '' : answer.fsType };
}

const OLD_KEY = /^csi(Provisioner|ControllerPublish|NodeStage|NodePublish)Secret(Name|Namespace)$/;

const differences: Difference<Case>[] = [
  {
    row: 'a secret template that is not closed, such as `${pvc.name`',
    applies: ({ parameters }) => Object.values(parameters).includes('${pvc.name'),
  },
];

test('a volume is asked for as external-provisioner asks for it', () => {
  agree(recorded<Case[]>('planning'), {
    same(given) {
      const ours = plan(given);
      return canonicalText(ours) === canonicalText(theirs(given))
        ? undefined
        : `planned ${canonicalText(ours)}`;
    },
    differences,
  });
});
