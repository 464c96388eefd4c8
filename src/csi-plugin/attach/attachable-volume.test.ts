import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, VolumeAttachment } from '../../api/kinds.ts';
import { attachmentName, oldInlineAttachmentName, seedAttachmentName } from '../../api/volumes.ts';
import { ANN_INLINE_POD } from '../../api/well-known.ts';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import {
  type AttachableVolume,
  attachableInlineVolume,
  attachablePersistentVolume,
  attachmentDraft,
  findAttachment,
} from './attachable-volume.ts';

const names = { driver: parseDriverName('d.test'), volumeHandle: parseVolumeHandle('h') };
const fromClaim: AttachableVolume = { kind: 'persistent-volume', ...names, pvName: 'pv-1' };
const inline: AttachableVolume = { kind: 'inline', ...names, namespace: 'ns', csi: names };
const TODAY = attachmentName({ ...names, nodeName: 'n1' });
const SEED = seedAttachmentName('pv-1', 'n1');
const OLD_INLINE = oldInlineAttachmentName({ ...names, namespace: 'ns', nodeName: 'n1' });

test('only CSI volumes with a handle are attached', () => {
  const pv = (csi?: object) => ({ metadata: { name: 'pv-1' }, spec: { csi } }) as unknown as PersistentVolume;
  assert.deepEqual(attachablePersistentVolume(pv(names)), fromClaim);
  assert.equal(attachablePersistentVolume(pv()), undefined);
  const pod = { name: 'p', uid: 'u' } as Parameters<typeof attachableInlineVolume>[1];
  assert.deepEqual(attachableInlineVolume(names, { ...pod, namespace: 'ns' }), { ...inline, pod });
  assert.deepEqual(attachableInlineVolume(names, pod), { ...inline, namespace: '', pod });
  assert.equal(attachableInlineVolume({ driver: 'd.test' }, pod), undefined);
});

test('[ATT-1] an attachment is this volume’s under today’s name, and under an older one where it names the volume', () => {
  const source = (csi: object) => ({ inlineVolumeSource: { volumeSource: { csi }, namespace: 'ns' } });
  const byPv = { persistentVolumeName: 'pv-1' };
  const at = (name: string, spec: Partial<VolumeAttachment['spec']> = {}) =>
    ({
      metadata: { name },
      spec: { attacher: 'd.test', nodeName: 'n1', source: byPv, ...spec },
    }) as unknown as VolumeAttachment;
  const asSource = (csi: object) => ({ source: source(csi) }) as unknown as VolumeAttachment['spec'];
  const spec = { inlineVolumeSpec: { csi: names } } as unknown as VolumeAttachment['spec']['source'];
  const table: [string, AttachableVolume, VolumeAttachment, boolean][] = [
    ['today’s name', fromClaim, at(TODAY), true],
    [
      'made for another PersistentVolume',
      fromClaim,
      at(TODAY, { source: { persistentVolumeName: 'x' } }),
      true,
    ],
    ['another driver’s', fromClaim, at(TODAY, { attacher: 'e.test' }), false],
    ['on another node', fromClaim, at(TODAY, { nodeName: 'n2' }), false],
    ['the seeds’ name', fromClaim, at(SEED), true],
    [
      'the seeds’ name, another volume',
      fromClaim,
      at(SEED, { source: { persistentVolumeName: 'x' } }),
      false,
    ],
    ['some other name', fromClaim, at('x'), false],
    ['inline, today’s name', inline, at(TODAY, asSource(names)), true],
    ['inline, the older name', inline, at(OLD_INLINE, asSource(names)), true],
    [
      'inline, the older name, another volume',
      inline,
      at(OLD_INLINE, asSource({ ...names, volumeHandle: 'x' })),
      false,
    ],
    ['inline, the older name, not an inline source', inline, at(OLD_INLINE), false],
    [
      'inline, the older name, in the spelling of a PersistentVolume',
      inline,
      at(OLD_INLINE, { source: spec }),
      false,
    ],
    ['inline, the seeds’ name', inline, at(SEED), false],
  ];
  for (const [name, volume, attachment, isFound] of table) {
    const attachments = new Map([[attachment.metadata.name, attachment]]);
    assert.equal(findAttachment(attachments, volume, 'n1'), isFound ? attachment : undefined, name);
  }
});

test('[ATT-1] where both names exist, today’s is used', () => {
  const both = [TODAY, SEED].map((name) => ({
    metadata: { name },
    spec: { attacher: 'd.test', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
  })) as unknown as VolumeAttachment[];
  const attachments = new Map(both.map((attachment) => [attachment.metadata.name, attachment]));
  assert.equal(findAttachment(attachments, fromClaim, 'n1'), both[0]);
});

test('[INL-4] an attachment names the PersistentVolume, or holds the inline source and the pod that gets its error events', () => {
  const common = { attacher: 'd.test', nodeName: 'n1' };
  assert.deepEqual(attachmentDraft(fromClaim, 'n1'), {
    metadata: { name: TODAY },
    spec: { ...common, source: { persistentVolumeName: 'pv-1' } },
  });
  const source = { inlineVolumeSource: { volumeSource: { csi: names }, namespace: 'ns' } };
  assert.deepEqual(attachmentDraft(inline, 'n1'), { metadata: { name: TODAY }, spec: { ...common, source } });
  const pod = { name: 'p', uid: 'u' };
  assert.deepEqual(attachmentDraft({ ...inline, pod }, 'n1').metadata, {
    name: TODAY,
    annotations: { [ANN_INLINE_POD]: JSON.stringify(pod) },
  });
});
