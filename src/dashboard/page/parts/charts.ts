// The charts: the state of the cluster, and rate and duration of the drivers' calls.

import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Sample } from '../../page-messages.ts';
import { formatLatency } from '../model/durations.ts';
import { callLines, medianLines, standLines, worstLines } from '../model/figures.ts';
import { Chart } from './chart.ts';

export function Charts({
  samples,
  hasHistory,
}: {
  samples: readonly Sample[];
  hasHistory: boolean;
}): ComponentChildren {
  const claims = useMemo(() => standLines(samples, { bound: 'bound', claims: 'claims' }), [samples]);
  const pods = useMemo(() => standLines(samples, { running: 'running', pods: 'pods' }), [samples]);
  return h(
    'div',
    { class: 'charts' },
    hasHistory ? h(CallCharts, { samples }) : null,
    h(Chart, { title: 'Claims', chart: claims, format: whole }),
    h(Chart, { title: 'Pods', chart: pods, format: whole }),
  );
}

function CallCharts({ samples }: { samples: readonly Sample[] }): ComponentChildren {
  const calls = useMemo(() => callLines(samples), [samples]);
  const median = useMemo(() => medianLines(samples), [samples]);
  const worst = useMemo(() => worstLines(samples), [samples]);
  return [
    h(Chart, { key: 'calls', title: 'Calls per second', chart: calls, format: tenth }),
    h(Chart, { key: 'median', title: 'Median latency', chart: median, format: formatLatency }),
    h(Chart, { key: 'worst', title: 'Worst latency', chart: worst, format: formatLatency }),
  ];
}

const whole = (value: number): string => (Number.isInteger(value) ? String(value) : '');
const tenth = (value: number): string =>
  Number.isInteger(value) ? String(value) : value.toFixed(value < 1 ? 2 : 1);
