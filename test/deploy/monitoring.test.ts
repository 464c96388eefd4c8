// Dashboards and rules ask only for metrics and labels that Berth's processes have, and every alert has a runbook.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { lacking, programPath } from '../capabilities.ts';
import { EXAMPLES, run, startUp, temporaryDirectory } from '../e2e/up-process.ts';

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const textOf = (path: string) => readFile(fileOf(path), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; runbook_url: string };
}

const rulesOf = async (): Promise<Rule[]> =>
  parse(await textOf('deploy/monitoring/rules.yaml')).groups.flatMap(({ rules }: { rules: Rule[] }) => rules);

async function expressionsOfDashboard(name: string): Promise<string[]> {
  const { panels, templating } = JSON.parse(await textOf(`deploy/monitoring/${name}.json`));
  const targets = panels.flatMap(({ targets: lines = [] }: { targets?: { expr: string }[] }) =>
    lines.map(({ expr }) => expr),
  );
  const lists = templating.list
    .map(({ query }: { query: string }) => /^label_values\((\w+), (\w+)\)$/.exec(query))
    .filter((match: unknown) => match !== null)
    .map(([, metric, label]: string[]) => `sum by (${label}) (${metric})`);
  return [...targets, ...lists];
}

const WORDS = new Set(
  'by on and unless without sum max count topk rate increase changes histogram_quantile'.split(' '),
);
/** Labels that a scrape adds, and of histograms. */
const ADDED = new Set(['job', 'instance', 'pod', 'namespace', 'le']);

/** The metrics and labels that a PromQL expression names. */
function namesIn(expression: string): { metrics: string[]; labels: string[] } {
  const labels: string[] = [];
  const rest = expression
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\b(?:by|on|without) \(([^)]*)\)/g, (_, list: string) => {
      labels.push(...list.split(',').map((label) => label.trim()));
      return '';
    })
    .replaceAll(/\{([^}]*)\}/g, (_, list: string) => {
      labels.push(...[...list.matchAll(/(\w+)\s*(?:=|!=|=~|!~)/g)].map(([, label]) => label ?? ''));
      return '';
    })
    .replaceAll(/\[[^\]]*\]/g, '');
  const metrics = [...rest.matchAll(/\b[a-z_]\w*\b/g)]
    .map(([word]) => word)
    .filter((word) => !WORDS.has(word));
  assert(metrics.length > 0, expression);
  return { metrics, labels: labels.filter((label) => label !== '' && !ADDED.has(label)) };
}

test('dashboards and rules name only metrics and labels that the processes have', {
  skip: lacking('root', 'kubectl'),
  timeout: 120_000,
}, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), [
    '--metrics',
    '--volume-stats-agg-period=50ms',
  ]);
  await up.kubectl('apply', '-f', join(EXAMPLES, 'claim-and-pod.yaml'));
  await up.kubectl('wait', 'pod/web', '--for=condition=Ready', '--timeout=60s');
  await up.kubectl('apply', '-f', join(EXAMPLES, 'snapshot.yaml'));
  await up.kubectl('wait', 'pod/from-snapshot', '--for=condition=Ready', '--timeout=60s');
  const restored = await up.kubectl('get', 'pvc/restored', '-o', 'jsonpath={.spec.volumeName}');
  await up.kubectl('delete', 'pod/from-snapshot', 'pvc/restored', '--timeout=60s');
  const volumes = () => up.kubectl('get', 'pv', '-o', 'name');
  // Its deletion has metrics of its own.
  while ((await volumes()).includes(restored.trim()));
  const scrape = async (): Promise<string> => {
    const parts = (await up.kubectl('get', '--raw', '/berth/metrics')).trim().split('\n');
    const texts = parts.map((part) => up.kubectl('get', '--raw', `/berth/metrics?part=${part}`));
    return (await Promise.all(texts)).join('\n');
  };
  let text = await scrape();
  // The statistics of a volume are asked for at an interval.
  while (!/^kubelet_volume_stats_inodes\{/m.test(text)) text = await scrape();

  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => [name, type]),
  );
  const labelsOf = (metric: string): string[] =>
    [...text.matchAll(new RegExp(`^${metric}\\{([^}]*)\\}`, 'gm'))].flatMap(([, list = '']) =>
      [...list.matchAll(/(\w+)=/g)].map(([, label]) => label ?? ''),
    );
  const rules = (await rulesOf()).map(({ expr }) => expr);
  const panels = await Promise.all(['csi-sidecars', 'csi-volumes'].map(expressionsOfDashboard));
  for (const expression of [...rules, ...panels.flat()]) {
    const { metrics, labels } = namesIn(expression);
    for (const metric of metrics) {
      const family = metric.replace(/_(?:bucket|count)$/, '');
      const type = types.get(metric) ?? (family === metric ? undefined : types.get(family));
      assert(type !== undefined, `no process has ${metric}, which is in ${expression}`);
      assert.equal(type === 'histogram', family !== metric, `${metric} is a ${type}`);
    }
    const known = new Set(metrics.flatMap(labelsOf));
    for (const label of labels) assert(known.has(label), `${label} is no label in ${expression}`);
  }
});

test('every alert links to a heading of the troubleshooting guide', async () => {
  const headings = [...(await textOf('docs/troubleshooting.md')).matchAll(/^#+ (.+)$/gm)].map(
    ([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
  );
  const rules = await rulesOf();
  assert(rules.length > 0);
  for (const { alert, annotations } of rules) {
    const [path, anchor] = annotations.runbook_url.split('#');
    assert.equal(path, 'docs/troubleshooting.md');
    assert(headings.includes(anchor ?? ''), `${alert}: there is no heading for #${anchor}`);
  }
});

test('Prometheus takes the rules', {
  skip: programPath('promtool') === undefined && 'this machine has no promtool: rules are not parsed',
}, async () => {
  const { code, stdout, stderr } = await run('promtool', [
    'check',
    'rules',
    fileOf('deploy/monitoring/rules.yaml'),
  ]);
  assert.equal(code, 0, stdout + stderr);
});
