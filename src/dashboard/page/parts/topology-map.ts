// A picture of where a volume can be used: a box for each topology segment with the capacity that is left there and its nodes.

import { type ComponentChildren, h } from 'preact';
import type { MapSegment } from '../../page-messages.ts';
import { formatBytes } from '../model/rows.ts';

const WIDTH = 232;
const PAD = 10;
const TITLE = 24;
const CAPACITY = 34;
const NODE = 22;
/** Characters that fit on a line, and beside a node's dot. */
const LINE = 29;
const NODE_LINE = 26;

export interface TopologyMapProps {
  readonly segments: readonly MapSegment[];
  /** Of one volume: where it is attached and used. Otherwise of a driver as a whole. */
  readonly isOfVolume: boolean;
}

export function TopologyMap({ segments, isOfVolume }: TopologyMapProps): ComponentChildren {
  const most = Math.max(1, ...segments.flatMap(({ capacity }) => capacity.map(({ bytes }) => bytes)));
  return h(
    'figure',
    { class: 'map', 'data-testid': 'map' },
    h(
      'div',
      { class: 'segments' },
      segments.map((segment) => h(SegmentBox, { key: segment.label, segment, most })),
    ),
    h(
      'figcaption',
      { class: 'dim' },
      isOfVolume
        ? '● attached   ○ can be used here   ╌ cannot be used here.'
        : 'Nodes with this driver, by topology segment.',
      segments.some(({ capacity }) => capacity.length > 0)
        ? ' Bars: capacity left, compared with the largest.'
        : '',
    ),
  );
}

function SegmentBox({ segment, most }: { segment: MapSegment; most: number }): ComponentChildren {
  const { label, nodes, more, capacity } = segment;
  const isReachable = nodes.some((node) => node.isReachable);
  const height = TITLE + capacity.length * CAPACITY + (nodes.length + (more > 0 ? 1 : 0)) * NODE + PAD;
  const nodesTop = TITLE + capacity.length * CAPACITY;
  return h(
    'svg',
    {
      class: `segment ${isReachable ? 'reachable' : 'unreachable'}`,
      width: WIDTH,
      height,
      viewBox: `0 0 ${WIDTH} ${height}`,
      role: 'img',
      'aria-label': describe(segment),
      'data-testid': 'segment',
    },
    h('rect', { class: 'box', x: 1, y: 1, width: WIDTH - 2, height: height - 2, rx: 5 }),
    h('text', { class: 'title', x: PAD, y: 17 }, h('title', null, label), cut(shortLabel(label))),
    capacity.map(({ className, bytes, largestBytes }, index) => {
      const y = TITLE + index * CAPACITY;
      const width = WIDTH - 2 * PAD;
      const largest = largestBytes === undefined ? '' : `, volumes up to ${formatBytes(largestBytes)}`;
      return h(
        'g',
        { key: className },
        h('title', null, `${className}: ${formatBytes(bytes)} left${largest}`),
        h('text', { x: PAD, y: y + 11 }, cut(`${className}: ${formatBytes(bytes)} left`)),
        h('rect', { class: 'room', x: PAD, y: y + 17, width, height: 7, rx: 2 }),
        h('rect', { class: 'left', x: PAD, y: y + 17, width: (width * bytes) / most, height: 7, rx: 2 }),
      );
    }),
    nodes.map((node, index) => h(NodeLine, { key: node.name, node, y: nodesTop + index * NODE })),
    more > 0
      ? h('text', { class: 'dim', x: PAD, y: nodesTop + nodes.length * NODE + 14 }, `and ${more} more nodes`)
      : null,
  );
}

function NodeLine({ node, y }: { node: MapSegment['nodes'][number]; y: number }): ComponentChildren {
  const notes = notesOf(node);
  // The name is cut, not what is said of the node.
  const note = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  const cy = y + 10;
  return h(
    'a',
    { href: `#/node/${encodeURIComponent(node.name)}` },
    h('title', null, `${node.name}: ${notes.join(', ') || 'ready'}`),
    node.isReachable
      ? h('circle', { class: node.isAttached ? 'dot attached' : 'dot', cx: PAD + 5, cy, r: 4.5 })
      : h('line', { class: 'no-dot', x1: PAD, x2: PAD + 10, y1: cy, y2: cy }),
    h(
      'text',
      { x: PAD + 18, y: y + 14, class: node.isReady ? 'node' : 'node stuck' },
      `${cut(node.name, NODE_LINE - note.length)}${note}`,
    ),
  );
}

function notesOf({ isReady, isAttached, pods }: MapSegment['nodes'][number]): string[] {
  return [
    ...(isReady ? [] : ['not ready']),
    ...(isAttached ? ['attached'] : []),
    ...(pods === 0 ? [] : [`${pods} ${pods === 1 ? 'pod' : 'pods'}`]),
  ];
}

/** For screen readers. */
function describe({ label, nodes, capacity }: MapSegment): string {
  const rooms = capacity.map(({ className, bytes }) => `${className} has ${formatBytes(bytes)} left`);
  const parts = nodes.map((node) =>
    [node.name, ...(node.isReachable ? [] : ['cannot use it']), ...notesOf(node)].join(' '),
  );
  return [shortLabel(label), ...rooms, ...parts].join('; ');
}

/** Without the domain of the keys: `topology.example.com/zone=a` is `zone=a`. */
export const shortTopology = (text: string): string => text.replaceAll(/(^| )[^\s/=]+\//g, '$1');

const shortLabel = (label: string): string => (label === '' ? 'everywhere' : shortTopology(label));

const cut = (text: string, most = LINE): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;
