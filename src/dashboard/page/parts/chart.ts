// One chart: series over the time that is kept, with each series' value now or at the pointer.

import { type ComponentChildren, h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { formatClock } from '../model/durations.ts';
import { type ChartLines, FAILED } from '../model/figures.ts';
import { colourOf, useColourScheme } from './use-colours.ts';

export interface ChartProps {
  readonly title: string;
  readonly chart: ChartLines;
  readonly format: (value: number) => string;
}

const HEIGHT_PX = 150;

export function Chart({ title, chart, format }: ChartProps): ComponentChildren {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const scheme = useColourScheme();
  const labels = chart.lines.map(({ label }) => label);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const made = new uPlot(
      optionsOf({ element, labels, format, onPoint: setPointed }),
      dataOf(chart),
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [labels.join('\n'), scheme]);
  useEffect(() => plot.current?.setData(dataOf(chart)), [chart]);
  const at = pointed ?? chart.times.length - 1;
  const time = chart.times[at];
  return h(
    'figure',
    { class: 'chart' },
    h(
      'figcaption',
      null,
      h('h3', null, title),
      h(
        'span',
        { class: 'dim' },
        pointed === undefined || time === undefined ? 'now' : formatClock(time * 1000),
      ),
    ),
    h('div', { ref: host, class: 'plot', 'aria-hidden': true }),
    h(
      'ul',
      { class: 'legend' },
      chart.lines.map(({ label, values }, index) =>
        h(
          'li',
          { key: label },
          h('span', { class: `swatch series-${label === FAILED ? FAILED : index + 1}`, 'aria-hidden': true }),
          `${label} `,
          h('b', null, shown(values[at], format)),
        ),
      ),
    ),
  );
}

const shown = (value: number | null | undefined, format: ChartProps['format']): string =>
  value === null || value === undefined ? '–' : format(value);

const dataOf = ({ times, lines }: ChartLines): uPlot.AlignedData => [
  [...times],
  ...lines.map(({ values }) => [...values]),
];

/** Seconds only where they are informative. */
const clockAt = (time: number): string => formatClock(time * 1000).slice(0, time % 60 === 0 ? 5 : 8);

interface OptionsInput {
  readonly element: HTMLElement;
  readonly labels: readonly string[];
  readonly format: ChartProps['format'];
  readonly onPoint: (index: number | undefined) => void;
}

function optionsOf({ element, labels, format, onPoint }: OptionsInput): uPlot.Options {
  const grid = { stroke: colourOf(element, '--line'), width: 1 };
  const axis = { stroke: colourOf(element, '--dim'), grid, ticks: grid, font: '11px system-ui, sans-serif' };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    padding: [8, 28, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.1] } },
    axes: [
      { ...axis, values: (_, times) => times.map(clockAt), space: 50, size: 26 },
      { ...axis, size: 58, values: (_, values) => values.map(format), space: 28 },
    ],
    series: [
      {},
      ...labels.map((label, index) => {
        const stroke = colourOf(element, label === FAILED ? '--stuck' : `--series-${index + 1}`);
        return { label, stroke, width: 1.5, points: { size: 3.5, fill: stroke } };
      }),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  };
}
