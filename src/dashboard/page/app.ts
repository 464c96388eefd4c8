// The page's frame, and the view that the address selects.

import { type ComponentChildren, h } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Model } from './model/model.ts';
import { formatRoute, type ListView, listRoute, type Query, type Route } from './model/routes.ts';
import { shownTroubles, titleOf } from './model/troubles.ts';
import { ClockProvider, useNow } from './parts/clock.ts';
import { Header } from './parts/header.ts';
import { Nav, titleOfList } from './parts/nav.ts';
import { Notices } from './parts/notices.ts';
import { TroubleList } from './parts/trouble-list.ts';
import { Scrolls } from './parts/use-scroll.ts';
import { ActivityView } from './views/activity-view.ts';
import { DetailsView } from './views/details-view.ts';
import { DriversView } from './views/drivers-view.ts';
import { NodesView } from './views/nodes-view.ts';
import { PodsView } from './views/pods-view.ts';
import { SnapshotsView } from './views/snapshots-view.ts';
import type { ViewProps } from './views/view.ts';
import { VolumesView } from './views/volumes-view.ts';

export interface AppProps {
  readonly model: Model;
  readonly route: Route;
  /** Replaces the current history entry: typing in a filter adds no step to go back over. */
  readonly onReplace: (route: Route) => void;
  readonly onRetry: () => void;
}

export function App(props: AppProps): ComponentChildren {
  const scrolls = useRef(new Map<string, number>());
  return h(
    Scrolls.Provider,
    { value: scrolls.current },
    h(ClockProvider, { offsetMs: props.model.offsetMs }, h(Page, props)),
  );
}

const views: Readonly<Record<ListView, (props: ViewProps) => ComponentChildren>> = {
  volumes: VolumesView,
  pods: PodsView,
  nodes: NodesView,
  drivers: DriversView,
  snapshots: SnapshotsView,
  activity: ActivityView,
};

function Page({ model, route, onReplace, onRetry }: AppProps): ComponentChildren {
  const backHash = useRef(formatRoute(listRoute('volumes')));
  if (route.view === 'list') backHash.current = formatRoute(route);
  const place = route.view === 'list' ? route.list : formatRoute(route);
  const main = useFocusAt(place);
  return h(
    'div',
    { class: `page ${model.connection}` },
    h(Header, { model, onRetry }),
    h(Nav, { tables: model.tables, current: route.view === 'list' ? route.list : undefined }),
    h(Notices, { model }),
    h(
      'main',
      { ref: main, tabIndex: -1 },
      model.about === undefined ? null : h(TroublesNow, { model, isBeside: route.view === 'details' }),
      model.about === undefined
        ? h(
            'p',
            { class: 'empty' },
            model.connection === 'refused' ? '' : 'Waiting for the first message from the server…',
          )
        : route.view === 'list'
          ? h(ListSection, { key: route.list, model, list: route.list, query: route.query, onReplace })
          : h(DetailsView, { key: place, model, subject: route.subject, backHash: backHash.current }),
    ),
  );
}

interface ListSectionProps {
  readonly model: Model;
  readonly list: ListView;
  readonly query: Query;
  readonly onReplace: (route: Route) => void;
}

function ListSection({ model, list, query, onReplace }: ListSectionProps): ComponentChildren {
  const onQuery = (next: Query): void => onReplace(listRoute(list, next));
  return h(
    'section',
    { class: 'view' },
    h('h2', null, titleOfList(list)),
    h(views[list], { model, query, onQuery }),
  );
}

/** A component of its own, because only it follows the clock. */
function TroublesNow({ model, isBeside }: { model: Model; isBeside: boolean }): ComponentChildren {
  const nowMs = useNow();
  const list = useMemo(() => shownTroubles(model, nowMs), [model.tables.troubles, model.unwellSince, nowMs]);
  const title = titleOf(model, list);
  useEffect(() => {
    document.title = title;
  }, [title]);
  return h(TroubleList, { list, isBeside });
}

/** Moves the focus to the new content, for users of the keyboard and of screen readers. */
function useFocusAt(place: string) {
  const ref = useRef<HTMLElement>(null);
  const seen = useRef(place);
  useEffect(() => {
    if (seen.current === place) return;
    seen.current = place;
    // Whoever pressed `/` is in the filter of the new content already.
    if (ref.current?.querySelector('input:focus')) return;
    ref.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [place]);
  return ref;
}
