// `npm run monitoring`: writes Grafana's dashboards and Prometheus' rules to deploy/monitoring, from scripts/monitoring.
// With --check it writes nothing, and fails when a file is stale.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { alerts } from './monitoring/alerts.ts';
import { type Dashboard, dashboards, type Panel } from './monitoring/dashboards.ts';
import { projectRoot } from './source-files.ts';

const directory = join(projectRoot, 'deploy/monitoring');
const RUNBOOK = 'docs/troubleshooting.md';
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
/** Of the 24 columns of a dashboard; in lines. */
const [WIDTH, HEIGHT, COLUMNS] = [12, 8, 24];

function panelOf(panel: Panel, id: number, place: { x: number; y: number }): object {
  const targets = Object.entries(panel.lines).map(([legend, expression], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATASOURCE,
    expr: expression,
    legendFormat: legend,
    ...(panel.isTable && { instant: true }),
  }));
  return {
    id,
    type: panel.isTable ? 'bargauge' : 'timeseries',
    title: panel.title,
    description: panel.says,
    datasource: DATASOURCE,
    gridPos: { ...place, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit: panel.unit, min: 0 }, overrides: [] },
    options: panel.isTable
      ? { orientation: 'horizontal', displayMode: 'basic', reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets,
  };
}

function dashboardOf({ name, title, variables, rows }: Dashboard): object {
  let [id, y] = [1, 0];
  const panels = Object.entries(rows).flatMap(([row, inside]) => {
    const heading = {
      id: id++,
      type: 'row',
      title: row,
      gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 },
      panels: [],
    };
    const top = y;
    const placed = inside.map((panel, index) =>
      panelOf(panel, id++, {
        x: (index % (COLUMNS / WIDTH)) * WIDTH,
        y: top + Math.floor(index / (COLUMNS / WIDTH)) * HEIGHT,
      }),
    );
    y = top + Math.ceil(inside.length / (COLUMNS / WIDTH)) * HEIGHT;
    return [heading, ...placed];
  });
  const lists = Object.entries(variables).map(([variable, [metric, label]]) => ({
    name: variable,
    type: 'query',
    datasource: DATASOURCE,
    query: `label_values(${metric}, ${label})`,
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  }));
  return {
    uid: name,
    title,
    tags: ['csi', 'storage'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }, ...lists] },
    panels,
  };
}

const groups = [
  {
    name: 'csi',
    rules: alerts.map(({ name, expression, for: duration, severity, summary }) => ({
      alert: name,
      expr: expression,
      for: duration,
      labels: { severity },
      annotations: { summary, runbook_url: `${RUNBOOK}#${name.toLowerCase()}` },
    })),
  },
];
const yaml = (value: object): string => stringify(value, { lineWidth: 0 });
const header = '# Written by scripts/generate-monitoring.ts.\n';

const files: Record<string, string> = {
  'rules.yaml': header + yaml({ groups }),
  // The same for the Prometheus Operator.
  'prometheus-rule.yaml':
    header +
    yaml({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: 'csi' },
      spec: { groups },
    }),
  ...Object.fromEntries(
    dashboards.map((dashboard) => [
      `${dashboard.name}.json`,
      `${JSON.stringify(dashboardOf(dashboard), undefined, 2)}\n`,
    ]),
  ),
};

for (const [name, text] of Object.entries(files)) {
  const file = join(directory, name);
  if (!process.argv.includes('--check')) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(file, text);
  } else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${name} is stale: run \`npm run monitoring\` and commit the result`);
    process.exitCode = 1;
  }
}
