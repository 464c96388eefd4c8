// Keeps the details of one object up to date: requests them when something changed, at most twice a second, and keeps
// the last result on failure. Does not use the DOM; `fetch` is the browser's.

import type { SubjectDetails } from '../../page-messages.ts';
import type { Subject } from './routes.ts';

export interface DetailsState {
  readonly details: SubjectDetails | undefined;
  /** `gone`: the object does not exist any more. `refused`: the link has expired. */
  readonly problem: 'gone' | 'refused' | { readonly says: string } | undefined;
  readonly isLoading: boolean;
}

export const noDetails: DetailsState = { details: undefined, problem: undefined, isLoading: true };

export interface DetailsLoader {
  refresh(): void;
  stop(): void;
}

interface LoaderOptions {
  readonly subject: Subject;
  readonly fetch: (path: string) => Promise<Pick<Response, 'status' | 'json'>>;
  onState(state: DetailsState): void;
}

/** Volumes go through several steps a second; a higher rate would not be readable. */
export const REFRESH_MS = 500;

export function loadDetails({ subject, fetch, onState }: LoaderOptions): DetailsLoader {
  let state = noDetails;
  let isStopped = false;
  let isBusy = false;
  let isAsked = false;

  const set = (next: Partial<DetailsState>): void => {
    if (isStopped) return;
    state = { ...state, ...next };
    onState(state);
  };
  const ask = async (): Promise<void> => {
    isBusy = true;
    isAsked = false;
    set({ isLoading: true });
    set({ ...(await answer(subject, fetch)), isLoading: false });
    setTimeout(() => {
      isBusy = false;
      if (isAsked && !isStopped) void ask();
    }, REFRESH_MS);
  };
  const refresh = (): void => {
    isAsked = true;
    if (!isBusy && !isStopped) void ask();
  };
  refresh();
  return {
    refresh,
    stop: () => {
      isStopped = true;
    },
  };
}

async function answer(
  subject: Subject,
  fetch: LoaderOptions['fetch'],
): Promise<Partial<Pick<DetailsState, 'details' | 'problem'>>> {
  try {
    const response = await fetch(pathOf(subject));
    const body: unknown = await response.json().catch(() => undefined);
    if (response.status === 200) return { details: body as SubjectDetails, problem: undefined };
    if (response.status === 404) return { problem: 'gone' };
    if (response.status === 401 || response.status === 403) return { problem: 'refused' };
    return { problem: { says: errorOf(body) ?? `the server answered ${response.status}` } };
  } catch (error) {
    return { problem: { says: error instanceof Error ? error.message : String(error) } };
  }
}

function pathOf({ kind, namespace, name }: Subject): string {
  const search = new URLSearchParams({ kind, ...(namespace === undefined ? {} : { namespace }), name });
  return `/api/subject?${search}`;
}

function errorOf(body: unknown): string | undefined {
  const { error } = (body ?? {}) as { error?: unknown };
  return typeof error === 'string' ? error : undefined;
}
