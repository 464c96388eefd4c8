// `berth wait`: waits for objects to reach a state, for scripts.

import type { KubeObject } from '../api/object.ts';
import { durationFlag, stringFlag } from '../runtime/flags/flag.ts';
import { awaitObject } from '../runtime/kube/await-object.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand, UsageError } from './command.ts';
import { objectArguments } from './objects/find-resource.ts';
import { connectionFlags, selectionFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';

type Condition = (object: KubeObject | undefined) => boolean;

export const command = defineCommand({
  summary: 'Waits for a state: --for=delete, --for=condition=Ready, --for=jsonpath={.status.phase}=Bound',
  arguments: { usage: 'KIND NAME… | KIND/NAME…', min: 1, max: 100 },
  completes: 'objects',
  flags: {
    ...connectionFlags,
    ...selectionFlags,
    for: stringFlag({
      help: 'delete, create, condition=TYPE[=STATUS] or jsonpath={.path}[=VALUE]',
      required: true,
    }),
    timeout: durationFlag({ help: 'How long to wait; 0: no limit', default: 30_000 }),
  },
  async run({ flags, args, env, log, signal, stdout }) {
    const until = parseCondition(flags.for);
    await using client = await openClient({ flags, env, log });
    const { kube, defaultNamespace } = client;
    const { resources } = await kube.servedResources({ signal });
    const namespace = flags.namespace ?? flags.n ?? defaultNamespace;
    const selector = flags.selector ?? flags.l;
    const targets = await Promise.all(
      objectArguments(resources, args).map(async ({ resource, name }) => {
        const within = resource.namespaced ? { namespace } : {};
        if (name !== undefined) return [{ resource, at: { name, ...within } }];
        const found = await kube.list(resource, {
          ...within,
          ...(selector && { labelSelector: selector }),
          signal,
        });
        return found.items.map(({ metadata }) => ({ resource, at: metadata }));
      }),
    );
    await Promise.all(
      targets.flat().map(async ({ resource, at }) => {
        await awaitObject({
          kube,
          clock: realClock,
          resource,
          at,
          timeoutMs: flags.timeoutMs,
          signal,
          until,
        });
        stdout.write(`${resource.kind.toLowerCase()}/${at.name} condition met\n`);
      }),
    );
  },
});

export function parseCondition(text: string): Condition {
  if (text === 'delete') return (object) => object === undefined;
  if (text === 'create') return (object) => object !== undefined;
  const condition = /^condition=([^=]+)(?:=(.*))?$/i.exec(text);
  if (condition) {
    const [, type = '', status = 'True'] = condition;
    return (object) =>
      conditionsOf(object).some((each) => same(each.type, type) && same(each.status, status));
  }
  const path = /^jsonpath='?\{(\.[^}]+)\}'?(?:=(.*))?$/.exec(text);
  if (path) {
    const [, keys = '', value] = path;
    return (object) => {
      const found = object && at(object, keys);
      if (value === undefined) return found !== undefined && found !== null && found !== '';
      return found !== undefined && String(found) === value;
    };
  }
  throw new UsageError(
    `--for=${text}: give delete, create, condition=TYPE[=STATUS] or jsonpath={.path}[=VALUE]`,
  );
}

function conditionsOf(object: KubeObject | undefined): { type: string; status: string }[] {
  return (
    (object as { status?: { conditions?: { type: string; status: string }[] } } | undefined)?.status
      ?.conditions ?? []
  );
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** Parses fields and list indexes: `.status.phase`, `.spec.accessModes[0]`, `.metadata.annotations.a\.b/c`. */
function at(object: unknown, path: string): unknown {
  const keys = path.match(/(?:\\.|[^.[\]])+/g) ?? [];
  return keys.reduce<unknown>((value, key) => {
    if (typeof value !== 'object' || value === null) return undefined;
    return (value as Record<string, unknown>)[key.replaceAll('\\', '')];
  }, object);
}
