// `berth get`: shows objects as kubectl does, for machines without kubectl.

import { apiVersionOf, type KubeObject, keyOf } from '../api/object.ts';
import { boolFlag, choiceFlag } from '../runtime/flags/flag.ts';
import type { HttpKubeClient, KubeTable } from '../runtime/kube/http-kube-client.ts';
import type { ServedResource } from '../runtime/kube/kube.ts';
import { isPrintable } from '../runtime/log/printable.ts';
import { defineCommand, type Output } from './command.ts';
import { type ObjectArgument, objectArguments } from './objects/find-resource.ts';
import { connectionFlags, selectionFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';
import { aligned, tableLines } from './objects/print-table.ts';

const FORMATS = ['', 'wide', 'yaml', 'json', 'name'] as const;
type Format = (typeof FORMATS)[number];

interface Asked {
  kube: HttpKubeClient;
  /** Undefined: all. */
  namespace: string | undefined;
  selector: string | undefined;
  format: Format;
  headers: boolean;
  signal: AbortSignal;
  stdout: Output;
}

export const command = defineCommand({
  summary: 'Shows objects: a table, or -o yaml|json|wide|name; -w watches',
  description:
    'Examples: `berth get pods`, `berth get pvc data -o yaml`, `berth get pv,pvc -A`, `berth get events -w`.',
  arguments: { usage: 'KIND [NAME…] | KIND/NAME…', min: 1, max: 100 },
  completes: 'objects',
  flags: {
    ...connectionFlags,
    ...selectionFlags,
    output: choiceFlag({ help: 'Output format (also -o)', choices: FORMATS, default: '' }),
    o: choiceFlag({ help: 'Same as --output', choices: FORMATS, default: '', hidden: true }),
    watch: boolFlag({ help: 'Watch for changes after listing (also -w)' }),
    w: boolFlag({ help: 'Same as --watch', hidden: true }),
    'no-headers': boolFlag({ help: 'Omit the header row' }),
  },
  async run({ flags, args, env, log, signal, stdout, stderr }) {
    await using client = await openClient({ flags, env, log });
    const { kube, defaultNamespace } = client;
    const { resources } = await kube.servedResources({ signal });
    if (args[0] === 'api-resources') {
      printResources(resources, stdout);
      return;
    }
    const isWide = flags.allNamespaces || flags.A;
    const asked: Asked = {
      kube,
      namespace: isWide ? undefined : (flags.namespace ?? flags.n ?? defaultNamespace),
      selector: flags.selector ?? flags.l,
      format: flags.output || flags.o,
      headers: !flags.noHeaders,
      signal,
      stdout,
    };
    const objects = objectArguments(resources, args);
    const shown = await show(asked, objects);
    if (flags.watch || flags.w) await follow(asked, objects, shown);
    else if (shown === 0) {
      const where = asked.namespace === undefined || !objects.some(({ resource }) => resource.namespaced);
      stderr.write(where ? 'No resources found\n' : `No resources found in ${asked.namespace} namespace.\n`);
    }
  },
});

async function show(asked: Asked, objects: readonly ObjectArgument[]): Promise<number> {
  const { format, stdout } = asked;
  if (format === '' || format === 'wide') {
    let shown = 0;
    for (const [index, group] of byKind(objects).entries()) {
      const table = await tableOf(asked, group);
      if (table.rows.length === 0) continue;
      if (shown > 0) stdout.write('\n');
      shown += table.rows.length;
      for (const line of tableLines(table, look(asked, group, objects, index))) stdout.write(`${line}\n`);
    }
    return shown;
  }
  const found = (await Promise.all(objects.map((object) => read(asked, object)))).flat();
  const single = objects.length === 1 && objects[0]?.name !== undefined;
  stdout.write(await serialized(found, format, single));
  return found.length;
}

/** The objects of one kind are printed together. */
function byKind(objects: readonly ObjectArgument[]): ObjectArgument[][] {
  return [...Map.groupBy(objects, ({ resource }) => resource).values()];
}

async function tableOf(
  { kube, namespace, selector, signal }: Asked,
  group: ObjectArgument[],
): Promise<KubeTable> {
  const tables = await Promise.all(
    group.map(({ resource, name }) =>
      kube.table(resource, {
        signal,
        ...(resource.namespaced && namespace !== undefined && { namespace }),
        ...(name !== undefined && { name }),
        ...(selector !== undefined && { labelSelector: selector }),
      }),
    ),
  );
  const [first] = tables;
  return { columnDefinitions: first?.columnDefinitions ?? [], rows: tables.flatMap(({ rows }) => rows) };
}

function look(asked: Asked, group: ObjectArgument[], all: readonly ObjectArgument[], index: number) {
  const resource = group[0]?.resource;
  const mixed = new Set(all.map((object) => object.resource)).size > 1;
  return {
    wide: asked.format === 'wide',
    namespaces: asked.namespace === undefined && (resource?.namespaced ?? false),
    prefix: mixed && resource ? qualified(resource) : '',
    headers: asked.headers || index < 0,
  };
}

function qualified({ kind, group }: ServedResource): string {
  return group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
}

async function read(
  { kube, namespace, selector, signal }: Asked,
  object: ObjectArgument,
): Promise<KubeObject[]> {
  const { resource, name } = object;
  const within = resource.namespaced && namespace !== undefined ? { namespace } : {};
  const objects =
    name !== undefined
      ? [await kube.get(resource, { name, ...within }, { signal })]
      : (
          await kube.list(resource, {
            ...within,
            signal,
            ...(selector !== undefined && { labelSelector: selector }),
          })
        ).items;
  return objects.map((each) => ({ ...each, apiVersion: apiVersionOf(resource), kind: resource.kind }));
}

async function serialized(objects: readonly KubeObject[], format: Format, single: boolean): Promise<string> {
  if (format === 'name') return objects.map((object) => `${nameWithKind(object)}\n`).join('');
  const plain = objects.map(({ apiVersion, kind, metadata, ...object }) => {
    const { managedFields: _hidden, ...shown } = metadata;
    return { apiVersion, kind, metadata: shown, ...object };
  });
  const value = single ? plain[0] : { apiVersion: 'v1', kind: 'List', items: plain, metadata: {} };
  if (format === 'json') return `${JSON.stringify(value, null, 4)}\n`;
  const { Document, visit } = await import('yaml');
  const document = new Document(value);
  // Escapes are only interpreted in double quotes, as in JSON.
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && !isPrintable(node.value.replaceAll('\n', ''))) {
        node.type = 'QUOTE_DOUBLE';
      }
    },
  });
  return document.toString({ lineWidth: 0 });
}

function nameWithKind({ apiVersion, kind, metadata }: KubeObject): string {
  const group = apiVersion.includes('/') ? `.${apiVersion.split('/')[0]}` : '';
  return `${kind.toLowerCase()}${group}/${metadata.name}`;
}

/** Prints each change as another row, until interrupted. Unchanged rows are not repeated. */
async function follow(asked: Asked, objects: readonly ObjectArgument[], shown: number): Promise<void> {
  const { kube, namespace, selector, signal, stdout, format } = asked;
  let heading = asked.headers && shown === 0;
  await Promise.all(
    byKind(objects).map(async (group) => {
      const [{ resource } = { resource: undefined }] = group;
      if (!resource) return;
      const within = resource.namespaced && namespace !== undefined ? { namespace } : {};
      const names = new Set(group.flatMap(({ name }) => (name === undefined ? [] : [name])));
      const selection = { ...within, ...(selector !== undefined && { labelSelector: selector }) };
      let { resourceVersion } = (await kube.list(resource, { ...selection, limit: 1, signal })).metadata;
      while (!signal.aborted) {
        const options = { ...selection, resourceVersion, allowBookmarks: true, signal };
        for await (const event of kube.watch(resource, options)) {
          if (event.type === 'BOOKMARK') {
            resourceVersion = event.resourceVersion;
            continue;
          }
          resourceVersion = event.object.metadata.resourceVersion;
          if (names.size > 0 && !names.has(event.object.metadata.name)) continue;
          if (format !== '' && format !== 'wide') {
            const object = { ...event.object, apiVersion: apiVersionOf(resource), kind: resource.kind };
            stdout.write(`${format === 'yaml' ? '---\n' : ''}${await serialized([object], format, true)}`);
            continue;
          }
          if (event.type === 'DELETED') {
            stdout.write(`${keyOf(event.object)}   deleted\n`);
            continue;
          }
          const { name } = event.object.metadata;
          const table = await tableOf(asked, [{ resource, name }]).catch(() => undefined);
          if (!table) continue;
          const lines = tableLines(table, { ...look(asked, group, objects, 0), headers: heading });
          heading = false;
          for (const line of lines) stdout.write(`${line}\n`);
        }
      }
    }),
  ).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

function printResources(resources: readonly ServedResource[], stdout: Output): void {
  const rows = resources.map((resource) => [
    resource.plural,
    (resource.shortNames ?? []).join(','),
    apiVersionOf(resource),
    String(resource.namespaced),
    resource.kind,
  ]);
  const header = ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND'];
  for (const line of aligned([header, ...rows])) stdout.write(`${line}\n`);
}
