import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CsiError } from '../../csi/csi-error.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { createMetrics } from '../../runtime/metrics/metrics.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { streamMetrics } from './stream-metrics.ts';

const cases: { name: string; error: unknown; code: string }[] = [
  { name: 'that ends well', error: undefined, code: 'OK' },
  { name: 'that is refused', error: new CsiError({ code: 'NOT_FOUND', message: 'no' }), code: 'NotFound' },
  { name: 'that meets a bug', error: new TypeError('a bug'), code: 'Internal' },
];
for (const { name, error, code } of cases) {
  test(`[CBT-1] a stream ${name} is counted once, with its duration`, async () => {
    const metrics = createMetrics();
    const clock = new VirtualClock();
    const stream = streamMetrics({ metrics, clock, driver: parseDriverName('d.example') }).begin(
      'MetadataDelta',
    );
    stream.about({ target: 'friday', base: 'thursday' });
    await clock.advance(2_000);
    stream.end(error);
    stream.end(undefined);
    const labels =
      `driver_name="d.example",method_name="MetadataDelta",grpc_status_code="${code}",` +
      'target_snapshot="friday",base_snapshot="thursday"';
    const name = 'snapshot_metadata_controller_operations_seconds';
    const text = metrics.text();
    assert.ok(text.includes(`${name}_sum{${labels}} 2\n`), text);
    assert.equal(text.match(/_count\{/g)?.length, 1);
    assert.ok(text.includes(`${name}_count{${labels}} 1\n`), text);
  });
}
