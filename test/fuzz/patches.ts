import assert from 'node:assert/strict';
import { deepFreeze } from '../../src/api/deep-freeze.ts';
import type { KubeObject } from '../../src/api/object.ts';
import { builtinKinds } from '../../src/apiserver/kinds/index.ts';
import { applyPatch } from '../../src/apiserver/patch/apply-patch.ts';
import { FieldSets } from '../../src/apiserver/patch/field-sets.ts';
import type { PatchType } from '../../src/runtime/kube/kube.ts';
import { KubeError } from '../../src/runtime/kube/kube-error.ts';
import type { Draw, FuzzTarget } from './target.ts';

export const patches: FuzzTarget = {
  summary:
    'patches of every type give a plain object or an error of the API, leave the document as it was, and touch no prototype',
  seedsInTests: 3_000,
  try(draw) {
    const kind = draw.of(KINDS);
    const current = document(draw, kind.kind);
    const before = JSON.stringify(current);
    deepFreeze(current);
    const type = draw.of<PatchType>(['json', 'merge', 'strategic', 'apply']);
    const request = {
      type,
      patch: type === 'json' ? operations(draw, current) : object(draw, current),
      current: type === 'apply' ? (JSON.parse(before) as KubeObject) : current,
      kind,
      fieldManager: 'fuzz',
      force: draw.chance(0.5),
      subresource: '' as const,
      nowMs: 0,
      fieldSets,
    };
    let result: KubeObject | undefined;
    try {
      result = applyPatch(request);
    } catch (error) {
      if (!(error instanceof KubeError) || (error.code >= 500 && !isAnsweredSo(error))) throw error;
    }
    assert.equal(JSON.stringify(current), before);
    for (const name of [...NAMES, 'x']) {
      assert.equal(
        Object.getOwnPropertyDescriptor({}.constructor.prototype, name)?.enumerable ?? false,
        false,
      );
    }
    if (result === undefined) return;
    refuseOdd(result, 0);
    if (type !== 'merge') return;
    assert.deepEqual(applyPatch({ ...request, current: result }), result, 'a merge patch is idempotent');
  },
};

const fieldSets = new FieldSets();
const KINDS = builtinKinds.filter(({ kind }) =>
  ['ConfigMap', 'Pod', 'ServiceAccount', 'Node'].includes(kind),
);
const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'a',
  'b~c/d',
  'name',
  'metadata',
  'labels',
  'data',
  'spec',
  'secrets',
  'containers',
  '$patch',
  '$retainKeys',
  '$setElementOrder/secrets',
  '$deleteFromPrimitiveList/finalizers',
  'finalizers',
];

/** Plain objects and lists all the way down. */
function refuseOdd(value: unknown, depth: number): void {
  assert.ok(depth <= 200, 'too deep');
  if (typeof value !== 'object' || value === null) return;
  const expected = Array.isArray(value) ? Array.prototype : Object.prototype;
  assert.equal(Object.getPrototypeOf(value), expected, 'an object with another prototype');
  for (const each of Object.values(value)) refuseOdd(each, depth + 1);
}

function document(draw: Draw, kind: string): KubeObject {
  const names = draw.list(3, () => ({ name: draw.of(['a', 'b', 'c']), x: value(draw, 3) }));
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name: 'n',
      labels: { a: 'b', constructor: 'x' },
      finalizers: draw.list(3, () => draw.of(['k/a', 'k/b'])),
    },
    data: { toString: '1', a: '2' },
    secrets: names,
    spec: { containers: names, list: draw.list(4, () => draw.int(3)) },
  } as unknown as KubeObject;
}

function value(draw: Draw, depth: number): unknown {
  switch (draw.int(depth > 0 ? 7 : 5)) {
    case 0:
      return null;
    case 1:
      return draw.int(3);
    case 2:
      return draw.of(['delete', 'replace', 'merge', 'a', draw.text()]);
    case 3:
      return draw.chance(0.5);
    case 4:
      return {};
    case 5:
      return draw.list(3, () => value(draw, depth - 1));
    default:
      return own(draw.list(4, () => [draw.of(NAMES), value(draw, depth - 1)]));
  }
}

/** As JSON.parse makes it: every name a field of its own. */
function own(entries: [string, unknown][]): object {
  return Object.fromEntries(entries);
}

function object(draw: Draw, current: KubeObject): unknown {
  if (draw.chance(0.1)) return value(draw, 3);
  const sections = draw.list(4, (): [string, unknown] => [
    draw.of([...NAMES, 'secrets', 'data', 'spec']),
    draw.chance(0.4) ? draw.list(4, () => own([['name', draw.of(['a', 'b', 'd'])]])) : value(draw, 4),
  ]);
  return own([['apiVersion', 'v1'], ['kind', current.kind], ['metadata', { name: 'n' }], ...sections]);
}

const PLACES = [
  'data',
  'spec/containers',
  'spec/list',
  'secrets',
  'metadata/labels',
  'metadata',
  'nowhere',
  '',
];

function operations(draw: Draw, current: KubeObject): unknown {
  if (draw.chance(0.05)) return value(draw, 3);
  const names = [...NAMES, '0', '1', '-', '-1', '01', 'x', ...Object.keys(current)];
  const pointer = (): string => {
    const place = draw.of(PLACES);
    const rest = draw.list(2, () => draw.of(names)).map((name) => `/${name}`);
    return draw.chance(0.05) ? draw.text() : `${place === '' ? '' : `/${place}`}${rest.join('')}`;
  };
  return draw.list(8, () =>
    draw.chance(0.05)
      ? value(draw, 2)
      : {
          op: draw.of(['add', 'remove', 'replace', 'move', 'copy', 'test', 'swap']),
          path: pointer(),
          from: pointer(),
          value: value(draw, 3),
        },
  );
}

/** kube-apiserver answers some patches that do not fit the object with 500 and no reason; ours are the same. */
const isAnsweredSo = ({ code, reason }: KubeError): boolean => code === 500 && reason === 'Unknown';
