// The header: the cluster, its counts, and whether the page is up to date.

import { type ComponentChildren, h } from 'preact';
import { formatClock } from '../model/durations.ts';
import type { Model } from '../model/model.ts';
import { listRoute } from '../model/routes.ts';
import { countsOf } from '../model/troubles.ts';
import { RouteLink } from './route-link.ts';

export function Header({ model, onRetry }: { model: Model; onRetry: () => void }): ComponentChildren {
  const { about, tables } = model;
  const { claims, bound, attached, pods, running } = countsOf(tables);
  return h(
    'header',
    null,
    h('h1', null, h(RouteLink, { route: listRoute('volumes') }, 'Berth')),
    about === undefined
      ? null
      : h('span', { class: 'about' }, h('span', { class: 'name' }, about.server), ` ${about.version}`),
    h(
      'dl',
      { class: 'counts' },
      h(Count, { title: 'claims bound', text: `${bound}/${claims}` }),
      h(Count, { title: 'attached', text: `${attached}` }),
      h(Count, { title: 'pods running', text: `${running}/${pods}` }),
    ),
    h(ConnectionView, { model, onRetry }),
  );
}

function Count({ title, text }: { title: string; text: string }): ComponentChildren {
  return h('div', null, h('dt', null, title), h('dd', null, text));
}

function ConnectionView({ model, onRetry }: { model: Model; onRetry: () => void }): ComponentChildren {
  const { connection } = model;
  return h(
    'p',
    {
      class: `connection ${connection}`,
      role: 'status',
      'data-testid': 'connection',
      'data-state': connection,
    },
    h('span', { class: 'symbol', 'aria-hidden': true }, connection === 'live' ? '●' : '○'),
    connectionText(model),
    connection === 'refused' ? h('button', { type: 'button', onClick: onRetry }, 'Try again') : null,
  );
}

function connectionText({ connection, heardMs }: Model): string {
  if (connection === 'live') return 'live';
  const seen = heardMs === undefined ? '' : `; the page shows the state at ${formatClock(heardMs)}`;
  if (connection === 'refused') {
    return `This link has expired: open again the one that berth up or berth dashboard printed${seen}.`;
  }
  return heardMs === undefined ? 'connecting' : `not connected${seen}`;
}
