// The chain from a pod to its storage, and for the broken link what to do.

import { type ComponentChildren, h } from 'preact';
import type { Link } from '../../../why/chain.ts';
import { routeOfChainSubject } from '../model/routes.ts';
import { Name } from './cells.ts';
import { Mark } from './mark.ts';

export function ChainView({ links }: { links: readonly Link[] }): ComponentChildren {
  const broken = links.findIndex(({ state }) => state !== 'ok');
  return h(
    'ol',
    { class: 'chain' },
    links.map((link, index) =>
      h(
        'li',
        {
          key: `${index} ${link.subject}`,
          class: link.state,
          'data-testid': 'chain-link',
          'data-state': link.state,
        },
        h(Mark, { state: link.state, text: link.state === 'ok' ? 'ok' : link.state.toUpperCase() }),
        h(
          'div',
          null,
          h(Subject, { subject: link.subject }),
          ' ',
          link.says,
          index === broken ? h(Advice, link) : null,
        ),
      ),
    ),
  );
}

function Subject({ subject }: { subject: string }): ComponentChildren {
  const route = routeOfChainSubject(subject);
  return h(Name, { text: subject, ...(route === undefined ? {} : { route }) });
}

function Advice({ said, todo }: Link): ComponentChildren {
  return h(
    'div',
    { class: 'advice' },
    said.map((text) => h('p', { key: text, class: 'said' }, text)),
    todo.length === 0 ? null : h('h4', null, 'What to do'),
    todo.length === 0
      ? null
      : h(
          'ul',
          null,
          todo.map((text) => h('li', { key: text }, text)),
        ),
  );
}
