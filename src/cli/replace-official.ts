// `berth manifests --replace-official`: reads the workloads of a namespace and the roles of their accounts, and prints them with
// Berth's sidecars in place of the official ones. What will differ goes to standard error. Only reads.

import {
  clusterRoleBindings,
  clusterRoles,
  daemonSets,
  deployments,
  roleBindings,
  roles,
  statefulSets,
} from '../api/kinds.ts';
import { apiVersionOf, type Resource } from '../api/object.ts';
import { manifestsText } from '../manifests/kustomize-base.ts';
import type { Manifest } from '../manifests/plan.ts';
import { publishedRbac, type RbacComponent } from '../manifests/published-rbac.ts';
import { type Binding, missingRights, type Role } from '../manifests/replace-official/missing-rights.ts';
import { replaceWorkload, type Workload } from '../manifests/replace-official/replace-workloads.ts';
import type { FlagTable } from '../runtime/flags/flag.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { type CommandContext, ExitCode, standardFlags } from './command.ts';
import { commands } from './commands.ts';
import type { manifestFlags } from './manifest-flags.ts';
import { openClient } from './objects/open-client.ts';
import { packageVersion } from './version.ts';

type Context = CommandContext<typeof manifestFlags>;

export async function replaceOfficial({
  flags,
  env,
  log,
  signal,
  stdout,
  stderr,
}: Context): Promise<ExitCode> {
  await using client = await openClient({ flags, env, log });
  const { namespace } = flags;
  const list = listOf(client.kube, signal);
  const lists = [deployments, statefulSets, daemonSets].map((kind) => list<Workload>(kind, namespace));
  const workloads = (await Promise.all(lists)).flat();
  const berthImage = flags.berthImage ?? `berth:${await packageVersion()}`;
  const tables = await flagTables();
  const replaced = workloads.flatMap(
    (workload) => replaceWorkload(workload, { berthImage, flagsOf: (name) => tables.get(name) }) ?? [],
  );
  if (replaced.length === 0) {
    stderr.write(
      `berth manifests: namespace ${namespace} has no workload with an official sidecar; --namespace chooses another\n`,
    );
    return ExitCode.failed;
  }
  const access = await readAccess(list, namespace);
  const byAccount = Map.groupBy(replaced, ({ account }) => account);
  const rights: Manifest[] = [];
  for (const [name, each] of byAccount) {
    const components = [...new Set(each.flatMap((workload) => workload.components))];
    const account = { name, namespace };
    const missing = missingRights({ account, ...access, published: await rolesFor(components, account) });
    rights.push(...missing);
    stderr.write(
      missing.length === 0
        ? `ServiceAccount ${name}: has all the rights that Berth needs\n`
        : `ServiceAccount ${name}: lacks rights that Berth needs; they are printed as further roles\n`,
    );
  }
  for (const note of replaced.flatMap(({ notes }) => notes)) stderr.write(`${note}\n`);
  stderr.write(
    'Leases, finalizers, annotations and metrics have the official names: whichever stack has a lease acts, the other waits. ' +
      'Before you apply this, save what is there (kubectl get -o yaml): applied again, it brings the official sidecars back.\n',
  );
  stdout.write(manifestsText([...rights, ...replaced.map(({ manifest }) => manifest)]));
  return ExitCode.ok;
}

type List = <T>(resource: Resource, namespace?: string) => Promise<T[]>;

const listOf =
  (kube: KubeClient, signal: AbortSignal): List =>
  async <T>(resource: Resource, namespace?: string) => {
    const { items } = await kube.list(resource, { ...(namespace !== undefined && { namespace }), signal });
    const { kind } = resource;
    const apiVersion = apiVersionOf(resource);
    // Items of a list say neither.
    return items.map((item) => ({ ...item, kind, apiVersion }) as T);
  };

async function readAccess(list: List, namespace: string): Promise<{ bindings: Binding[]; roles: Role[] }> {
  const [everywhere, here, clusterWide, local] = await Promise.all([
    list<Binding>(clusterRoleBindings),
    list<Binding>(roleBindings, namespace),
    list<Role>(clusterRoles),
    list<Role>(roles, namespace),
  ]);
  return { bindings: [...everywhere, ...here], roles: [...clusterWide, ...local] };
}

/** Without Secrets: those that the official sidecars may read, Berth's may too, and no others. */
const rolesFor = async (
  components: readonly RbacComponent[],
  { name, namespace }: { name: string; namespace: string },
): Promise<Manifest[]> =>
  (await publishedRbac({
    components,
    namespace,
    secrets: 'none',
    serviceAccount: name,
    suffix: `berth-${name}`,
  })) as Manifest[];

async function flagTables(): Promise<Map<string, FlagTable>> {
  const loaded = Object.entries(commands).map(async ([name, row]) => {
    const table: FlagTable = { ...(await row.load()).command.flags, ...standardFlags };
    return [name, table] as const;
  });
  return new Map(await Promise.all(loaded));
}
