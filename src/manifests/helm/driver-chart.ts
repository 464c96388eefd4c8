// The charts of a driver and of the parts that a cluster needs once: which of their fields are values. Pure but for reading
// the published roles and definitions.

import type { Container, ResourceRequirements } from 'kubernetes-types/core/v1.js';
import { csiDriverObjects } from '../access.ts';
import { driverObjects } from '../driver-objects.ts';
import { manifestsText } from '../kustomize-base.ts';
import { type OncePlan, onceObjects } from '../once-per-cluster.ts';
import { baseName, type Manifest, type Plan } from '../plan.ts';
import { type Choice, helmChart } from './helm-chart.ts';
import { camelCase, SOME_LOG_LEVEL } from './value-fields.ts';

const NAMESPACE = '.Release.Namespace';

interface About {
  version: string;
  /** The sidecars that this kind of deployment can have, in the order of a command line. */
  available: readonly string[];
}

/** Files by path. */
export async function driverChart(
  plan: Plan,
  { version, available }: About,
): Promise<Record<string, string>> {
  const { controller } = plan;
  const clusterLevel = available.filter((name) => !BESIDE.has(name));
  const hasReplicas = controller === 'deployment';
  const chosen = (choice: Choice): Plan => ({
    ...plan,
    sidecars: clusterLevel.filter((name) => choice.sidecars.includes(name)),
    hasRegistrar: choice.sidecars.includes('node-registrar'),
    hasProbe: choice.sidecars.includes('livenessprobe'),
    replicas: hasReplicas ? choice.replicas : plan.replicas,
    logLevel: choice.logLevel === 'some' ? SOME_LOG_LEVEL : 0,
    makesNamespace: false,
  });
  const everything: Choice = { sidecars: available, replicas: 1, logLevel: 'none' };
  const objects = await driverObjects(chosen(everything));
  return helmChart({
    name: baseName(plan),
    description: `The CSI driver ${plan.driverName} with Berth's sidecars`,
    version,
    sidecars: available,
    defaultSidecars: [
      ...plan.sidecars,
      ...(plan.hasRegistrar ? ['node-registrar'] : []),
      ...(plan.hasProbe ? ['livenessprobe'] : []),
    ],
    controllers: plan.isSeparate ? [] : clusterLevel,
    hasReplicas,
    ...(available.includes(MAKES_CSI_DRIVER) && {
      conditions: { 'templates/csidriver.yaml': `not .Values.sidecars.${camelCase(MAKES_CSI_DRIVER)}` },
    }),
    values: [
      { comment: "The driver's image.", name: 'image', value: plan.image },
      ...berthValues(plan, hasReplicas),
      {
        comment: 'Arguments of the driver: in both pods, in the controller only, on the nodes only.',
        name: 'driver',
        value: {
          args: plan.arguments('driver'),
          controllerArgs: plan.arguments('controller-driver'),
          nodeArgs: plan.arguments('node-driver'),
        },
      },
      resourcesValue(Object.values(objects).flat()),
    ],
    async make(choice, values) {
      const withValues = {
        ...chosen(choice),
        image: values('image'),
        berthImage: values('berthImage'),
        namespace: values(NAMESPACE),
        nodeNamespace: plan.nodeNamespace === plan.namespace ? values(NAMESPACE) : plan.nodeNamespace,
      };
      const sidecars = withValues.sidecars.filter((name) => name !== MAKES_CSI_DRIVER);
      const parts = {
        ...(await driverObjects(withValues)),
        csidriver: csiDriverObjects({ ...withValues, sidecars }),
      };
      return Object.fromEntries(
        Object.entries(parts).map(([part, made]) => [`templates/${part}.yaml`, made]),
      );
    },
  });
}

/** The sidecar that makes the CSIDriver object itself. */
const MAKES_CSI_DRIVER = 'cluster-registrar';

const BESIDE: ReadonlySet<string> = new Set(['node-registrar', 'livenessprobe']);

/** Files by path. Helm installs what is below crds/ first, and never removes it. */
export async function onceChart(plan: OncePlan, version: string): Promise<Record<string, string>> {
  const { part } = plan;
  const objects = await onceObjects({ ...plan, makesNamespace: false });
  const definitions = objects.filter(isDefinition);
  const hasProgram = definitions.length < objects.length;
  const chart = await helmChart({
    name: part,
    description: `Berth's ${part}, once for all drivers of a cluster`,
    version,
    sidecars: [],
    defaultSidecars: [],
    controllers: [],
    hasReplicas: hasProgram,
    values: hasProgram ? [...berthValues(plan, true), resourcesValue(objects)] : [],
    async make(choice, values) {
      const made = await onceObjects({
        ...plan,
        makesNamespace: false,
        berthImage: values('berthImage'),
        namespace: values(NAMESPACE),
        replicas: choice.replicas,
        logLevel: choice.logLevel === 'some' ? SOME_LOG_LEVEL : 0,
      });
      return { [`templates/${part}.yaml`]: made.filter((object) => !isDefinition(object)) };
    },
  });
  const files = definitions.map((object) => [`crds/${object.metadata.name}.yaml`, manifestsText([object])]);
  return { ...chart, ...Object.fromEntries(files) };
}

const isDefinition = ({ kind }: Manifest): boolean => kind === 'CustomResourceDefinition';

const berthValues = (
  { berthImage, replicas, logLevel }: Pick<Plan, 'berthImage' | 'replicas' | 'logLevel'>,
  hasReplicas: boolean,
) => [
  { comment: "The image of Berth's containers.", name: 'berthImage', value: berthImage },
  ...(hasReplicas ? [{ comment: 'Replicas, one of which leads.', name: 'replicas', value: replicas }] : []),
  {
    comment: "Verbosity of Berth's containers: 4 debug, 5 every CSI call.",
    name: 'logLevel',
    value: logLevel,
  },
];

function resourcesValue(objects: readonly Manifest[]) {
  const resources: Record<string, ResourceRequirements> = {};
  for (const { spec } of objects) {
    const template = (spec as { template?: { spec: { containers: Container[] } } } | undefined)?.template;
    for (const container of template?.spec.containers ?? []) {
      resources[camelCase(container.name)] = container.resources ?? {};
    }
  }
  return { comment: 'What each container requests.', name: 'resources', value: resources };
}
