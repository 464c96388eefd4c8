import type { Finding } from '../../audit/finding.ts';
import { StorageBackend } from '../storage-backend.ts';
import type { World } from '../world.ts';

/** The storages of this world's own drivers. What a driver of somebody else's stores is not known. */
export const storagesOf = ({ backends }: World): StorageBackend[] =>
  [...backends.values()].filter((backend) => backend instanceof StorageBackend);

/** Something that an auditor must find. */
export interface Plant {
  readonly driver: string;
  /** The ID of the finding that it must become. */
  readonly finding: string;
  readonly severity: Finding['severity'];
  /** It has no claim's name: while any claim is being provisioned, it may be that one's, and is not reported. */
  readonly isNameless?: boolean;
  /** Whether the auditor's plan must end it. */
  readonly isActionable: boolean;
  /** Components end some of them by themselves. */
  exists(): boolean;
  /** Ends what the auditor must not. */
  remove(): Promise<void>;
}

export type Planted = Omit<Plant, 'driver'>;
