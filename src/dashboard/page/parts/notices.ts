// Which data the page cannot show, and why.

import { type ComponentChildren, h } from 'preact';
import type { Model } from '../model/model.ts';

export function Notices({ model: { about, trouble } }: { model: Model }): ComponentChildren {
  const unread = about?.unread ?? [];
  return h(
    'div',
    { class: 'notices' },
    unread.length === 0
      ? null
      : h(
          'p',
          { class: 'notice' },
          'Not shown, since they may not be read or are not served: ',
          h('span', { class: 'name' }, unread.join(', ')),
          '. Their data is missing on this page.',
        ),
    trouble === undefined ? null : h('p', { class: 'notice', role: 'alert' }, trouble),
  );
}
