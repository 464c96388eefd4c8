import assert from 'node:assert/strict';
import { test } from 'node:test';
import { featureGatesFlag } from './feature-gates.ts';
import { boolFlag, durationFlag, intFlag, stringFlag } from './flag.ts';
import { flagHelp } from './flag-help.ts';

test('help is grouped and tells defaults, environment, deprecation and lack of effect', () => {
  const help = flagHelp({
    name: stringFlag({ help: 'Its name', required: true }),
    timeout: durationFlag({ help: 'Time for a call', default: 15_000, group: 'Calls' }),
    address: stringFlag({ help: 'Socket', default: '/a', env: 'ADDRESS' }),
    elect: boolFlag({ help: 'Elect a leader' }),
    topology: boolFlag({ help: 'Use topology', default: true }),
    old: stringFlag({ help: 'Old', deprecated: 'use --address' }),
    none: intFlag({ help: 'None', default: 3, ignored: 'there is nothing to tune' }),
    secret: boolFlag({ help: 'not shown', hidden: true }),
    v: intFlag({ help: 'Verbosity', default: 0, group: 'Calls' }),
    'feature-gates': featureGatesFlag({ A: { default: true, stage: 'beta', help: 'the A' } }),
  });
  assert.equal(
    help,
    `Flags:
  --name string
      Its name (required)
  --address string
      Socket (default "/a"; environment: ADDRESS)
  --elect
      Elect a leader
  --topology
      Use topology (default true)
  --old string
      Old
      Deprecated: use --address
  --none int
      None
      No effect: there is nothing to tune
  --feature-gates Gate=true|false,…
      Switches for optional behaviour:
      A (beta, default true): the A

Calls:
  --timeout duration
      Time for a call (default 15s)
  -v int
      Verbosity (default 0)
`,
  );
});

test('long help is wrapped, no word lost', () => {
  const words = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ');
  const lines = flagHelp({ x: boolFlag({ help: words }) }).split('\n');
  assert.ok(lines.every((line) => line.length <= 100));
  const text = lines.slice(2).join(' ').replaceAll(/\s+/g, ' ').trim();
  assert.equal(text, words);
});
