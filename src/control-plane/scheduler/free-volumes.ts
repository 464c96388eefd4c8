// Free volumes, indexed by class and by the node labels that their affinity requires, so that a lookup for one node does
// not visit the local volumes of all others. A chosen volume is held until the choice is written: pods are scheduled
// faster than the watch confirms choices.

import type { PersistentVolume } from '../../api/kinds.ts';
import { storageClassOf } from '../../api/volumes.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { NodeInfo } from './node-info.ts';

const FREE = 'scheduler/free-volumes';
const BY_CLAIM = 'scheduler/volumes-by-claim';
const ANYWHERE = '*';

const claimKeys = ({ spec: { claimRef } }: PersistentVolume): string[] =>
  claimRef ? [`${claimRef.namespace}/${claimRef.name}`] : [];

/** For each term of its node affinity one requirement that a node must meet, as text. */
function placesOf(volume: PersistentVolume): string[] {
  if (volume.spec.claimRef || volume.status?.phase !== 'Available') return [];
  const className = storageClassOf(volume) ?? '';
  const required = volume.spec.nodeAffinity?.required;
  if (!required) return [placeText(className, ANYWHERE)];
  return required.nodeSelectorTerms.flatMap(({ matchExpressions = [], matchFields = [] }) => {
    const narrow = [...matchExpressions, ...matchFields].find(({ operator }) => operator === 'In');
    if (!narrow) return [placeText(className, ANYWHERE)];
    return (narrow.values ?? []).map((value) => placeText(className, `${narrow.key}=${value}`));
  });
}

const placeText = (className: string, place: string): string => `${className} ${place}`;

export class FreeVolumes {
  readonly latest: ReadYourWrites<PersistentVolume>;
  readonly #informer: Informer<PersistentVolume>;
  readonly #held = new Set<string>();

  constructor(informer: Informer<PersistentVolume>) {
    this.#informer = informer;
    this.latest = new ReadYourWrites(informer);
    informer.addIndex(FREE, placesOf);
    informer.addIndex(BY_CLAIM, claimKeys);
  }

  reservedFor(claimKey: string): PersistentVolume[] {
    return this.#current(this.#informer.byIndex(BY_CLAIM, claimKey));
  }

  /** May include volumes that the node cannot reach, but never omits one that it can. */
  near(className: string, { node }: NodeInfo): PersistentVolume[] {
    const found = new Map<string, PersistentVolume>();
    const take = (place: string) => {
      for (const volume of this.#current(this.#informer.byIndex(FREE, placeText(className, place)))) {
        const { name } = volume.metadata;
        if (!this.#held.has(name) && !volume.spec.claimRef) found.set(name, volume);
      }
    };
    take(ANYWHERE);
    take(`metadata.name=${node?.metadata.name ?? ''}`);
    for (const [key, value] of Object.entries(node?.metadata.labels ?? {})) take(`${key}=${value}`);
    return [...found.values()];
  }

  /** No other pod is offered the volume until the returned function is called. */
  hold({ metadata: { name } }: PersistentVolume): () => void {
    this.#held.add(name);
    return () => this.#held.delete(name);
  }

  #current(volumes: readonly PersistentVolume[]): PersistentVolume[] {
    return volumes.flatMap(({ metadata }) => this.latest.get(metadata.name) ?? []);
  }
}
