// The stages of a volume's life: claimed, provisioned, bound, placed, attached, mounted. Pure.

import type { DriverRow, VolumeRow } from '../../page-messages.ts';

export type StageState = 'ok' | 'working' | 'failed' | 'not-yet' | 'not-needed';

export const stageNames = ['claimed', 'provisioned', 'bound', 'placed', 'attached', 'mounted'] as const;
export type StageName = (typeof stageNames)[number];

export interface Stage {
  readonly name: StageName;
  readonly state: StageState;
}

/** Whether a stage is reached; `partly`: by some pods; `wanted`: not yet, and a component is working on it. */
type Reach = 'reached' | 'partly' | 'wanted' | 'unwanted' | 'not-needed' | 'failed';

/** Without its driver (unread, or gone) a volume counts as one that has to be attached. */
export function lifeLine(row: VolumeRow, driver?: Pick<DriverRow, 'attachRequired'>): readonly Stage[] {
  const reach = reachOf(row, driver?.attachRequired ?? true);
  const states = reach.map((each): StageState => {
    if (each === 'reached') return 'ok';
    if (each === 'partly') return 'working';
    return each === 'failed' || each === 'not-needed' ? each : 'not-yet';
  });
  if (isOnItsWayBack(row)) {
    // The furthest stage is the one that is being undone.
    const last = reach.lastIndexOf('reached');
    if (last >= 0) states[last] = row.state === 'stuck' ? 'failed' : 'working';
  } else {
    const next = reach.findIndex((each) => each !== 'reached' && each !== 'not-needed');
    if (reach[next] === 'wanted' || reach[next] === 'partly')
      states[next] = row.state === 'stuck' ? 'failed' : 'working';
  }
  return stageNames.map((name, index) => ({ name, state: states[index] ?? 'not-yet' }));
}

/** Number of completed stages, for sorting. */
export const progressOf = (stages: readonly Stage[]): number =>
  stages.filter(({ state }) => state === 'ok' || state === 'not-needed').length;

/** For screen readers: `claimed, provisioned, bound; placed working; attached, mounted not yet`. */
export function describeLifeLine(stages: readonly Stage[]): string {
  const groups: { state: StageState; names: string[] }[] = [];
  for (const { name, state } of stages) {
    const last = groups.at(-1);
    if (last?.state === state) last.names.push(name);
    else groups.push({ state, names: [name] });
  }
  return groups
    .map(({ state, names }) => names.join(', ') + (state === 'ok' ? '' : ` ${state.replace('-', ' ')}`))
    .join('; ');
}

const isOnItsWayBack = ({ isGoing, phase, state }: VolumeRow): boolean =>
  isGoing || ((phase === 'Released' || phase === 'Failed') && state !== 'ok');

function reachOf(row: VolumeRow, attachRequired: boolean): readonly Reach[] {
  const { subject, phase, volume, attachments } = row;
  const isClaim = subject === 'claim';
  const users = row.pods.filter((pod) => pod.phase !== 'Succeeded' && pod.phase !== 'Failed');
  const placed = users.filter(({ node }) => node !== undefined);
  return [
    isClaim ? 'reached' : 'unwanted',
    !isClaim || volume !== undefined ? 'reached' : 'wanted',
    boundReach(phase, isClaim),
    reachOfAll(users, ({ node }) => node !== undefined),
    attachRequired ? attachReach(attachments, placed) : 'not-needed',
    reachOfAll(placed, ({ isMounted }) => isMounted),
  ];
}

/** Of pods: by all, by some, by none. */
function reachOfAll<P>(pods: readonly P[], has: (pod: P) => boolean): Reach {
  if (pods.length === 0) return 'unwanted';
  if (pods.every(has)) return 'reached';
  return pods.some(has) ? 'partly' : 'wanted';
}

function boundReach(phase: string, isClaim: boolean): Reach {
  if (phase === 'Lost') return 'failed';
  if (phase === 'Bound') return 'reached';
  return isClaim ? 'wanted' : 'unwanted';
}

/** Attached where it is used; without users, attached anywhere. */
function attachReach(attachments: VolumeRow['attachments'], users: VolumeRow['pods']): Reach {
  const isAttachedTo = (node: string | undefined): boolean =>
    attachments.some((attachment) => attachment.node === node && attachment.attached);
  if (users.length === 0) return attachments.some(({ attached }) => attached) ? 'reached' : 'unwanted';
  if (users.every(({ node }) => isAttachedTo(node))) return 'reached';
  if (attachments.some(({ attached, error }) => !attached && error !== undefined)) return 'failed';
  return users.some(({ node }) => isAttachedTo(node)) ? 'partly' : 'wanted';
}
