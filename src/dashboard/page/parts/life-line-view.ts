// The stages of a volume as dots; their names are in the column's header.

import { type ComponentChildren, h } from 'preact';
import { describeLifeLine, type Stage, stageNames } from '../model/life-line.ts';

export function LifeLineView({ stages }: { stages: readonly Stage[] }): ComponentChildren {
  return h(
    'span',
    { class: 'life', role: 'img', 'aria-label': describeLifeLine(stages) },
    stages.map(({ name, state }) =>
      h('span', { key: name, class: `stage ${state}`, title: `${name}: ${state.replace('-', ' ')}` }),
    ),
  );
}

export function StageNames(): ComponentChildren {
  return h(
    'span',
    { class: 'life names' },
    stageNames.map((name) => h('span', { key: name, class: 'stage-name' }, name)),
  );
}
