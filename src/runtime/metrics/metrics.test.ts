import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CSI_OPERATION_BUCKETS } from './metric-buckets.ts';
import { createMetrics } from './metrics.ts';

describe('createMetrics', () => {
  it('hands out the same metric for the same name, in a registry of its own', async () => {
    const metrics = createMetrics();
    const init = { name: 'things_total', help: 'Things.', labelNames: ['kind'] } as const;
    metrics.counter(init).inc({ kind: 'a' });
    metrics.counter(init).inc({ kind: 'a' });
    assert.match(await metrics.text(), /things_total\{kind="a"\} 2/);
    assert.doesNotMatch(await createMetrics().text(), /things_total/);
  });

  it('exports the start time of the process', async () => {
    const text = await createMetrics({ clock: { now: () => 1_000_000 }, uptimeSeconds: 100 }).text();
    assert.match(text, /# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 900\n/);
  });

  it('reads gauges when scraped, sums readers with the same labels, and unregisters them', async () => {
    const metrics = createMetrics();
    const init = { name: 'depth', help: 'Depth.', labelNames: ['name'] } as const;
    let depth = 1;
    const stop = metrics.gaugeFrom(init, { name: 'a' }, () => depth);
    metrics.gaugeFrom(init, { name: 'a' }, () => 10);
    metrics.gaugeFrom(init, { name: 'b' }, () => 5);
    assert.match(await metrics.text(), /depth\{name="a"\} 11\ndepth\{name="b"\} 5/);
    depth = 2;
    assert.match(await metrics.text(), /depth\{name="a"\} 12/);
    stop();
    assert.match(await metrics.text(), /depth\{name="a"\} 10/);
  });

  it('has the official buckets', async () => {
    const metrics = createMetrics();
    metrics
      .histogram({ name: 'csi_sidecar_operations_seconds', help: 'x', buckets: CSI_OPERATION_BUCKETS })
      .observe(700);
    const text = await metrics.text();
    const bounds = [...text.matchAll(/le="([^"]+)"/g)].map((match) => match[1]);
    assert.deepEqual(bounds, '0.1 0.25 0.5 1 2.5 5 10 15 25 50 120 300 600 +Inf'.split(' '));
  });

  it('writes the text format: buckets are cumulative, and label values are escaped', () => {
    const metrics = createMetrics({ clock: { now: () => 0 }, uptimeSeconds: 0 });
    const seconds = metrics.histogram({
      name: 's',
      help: 'Back\\slash and\nnew line.',
      labelNames: ['k'],
      buckets: [0.5, 1],
    });
    for (const value of [0.5, 0.6, 7]) seconds.observe({ k: '"a\\b\n' }, value);
    metrics.counter({ name: 'none', help: 'Nothing yet.' });
    metrics.counter({ name: 'unseen', help: 'No label yet.', labelNames: ['k'] });
    const gauge = metrics.gauge({ name: 'odd', help: 'Odd.', labelNames: ['k'] });
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1.5])
      gauge.set({ k: String(value) }, value);
    assert.equal(
      metrics.text(),
      String.raw`# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 0

# HELP s Back\\slash and\nnew line.
# TYPE s histogram
s_bucket{le="0.5",k="\"a\\b\n"} 1
s_bucket{le="1",k="\"a\\b\n"} 2
s_bucket{le="+Inf",k="\"a\\b\n"} 3
s_sum{k="\"a\\b\n"} 8.1
s_count{k="\"a\\b\n"} 3

# HELP none Nothing yet.
# TYPE none counter
none 0

# HELP unseen No label yet.
# TYPE unseen counter

# HELP odd Odd.
# TYPE odd gauge
odd{k="NaN"} NaN
odd{k="Infinity"} +Inf
odd{k="-Infinity"} -Inf
odd{k="-1.5"} -1.5
`,
    );
  });
});
