// Actions on an object, with a token of the viewer's own. It is kept in this page's memory alone, and is gone with it.

import { type ComponentChildren, h } from 'preact';
import { useState } from 'preact/hooks';
import { type Offer, offersFor } from '../model/offers.ts';
import type { SubjectRow } from '../model/subject-row.ts';

let token = '';

export function Actions({ found }: { found: SubjectRow }): ComponentChildren {
  const [, setTyped] = useState(token);
  const [asked, setAsked] = useState<string | undefined>(undefined);
  const [said, setSaid] = useState('');
  const offers = offersFor(found);
  if (offers.length === 0) return null;
  const onClick = async (offer: Offer): Promise<void> => {
    if (offer.confirm !== undefined && asked !== offer.title) return setAsked(offer.title);
    setAsked(undefined);
    setSaid('asking…');
    setSaid(await perform(offer));
  };
  return h(
    'section',
    { class: 'actions', 'data-testid': 'actions' },
    h('h3', null, 'What you can do here'),
    h(
      'div',
      { class: 'bar' },
      offers.map((offer) =>
        h(
          'button',
          {
            key: offer.title,
            type: 'button',
            class: asked === offer.title ? 'danger' : '',
            disabled: token === '',
            onClick: () => void onClick(offer),
          },
          asked === offer.title ? offer.confirm : offer.title,
        ),
      ),
    ),
    h(
      'label',
      null,
      'Your token ',
      h('input', {
        type: 'password',
        autocomplete: 'off',
        spellcheck: false,
        value: token,
        'data-testid': 'token',
        onInput: (event: Event) => {
          token = (event.currentTarget as HTMLInputElement).value.trim();
          setTyped(token);
        },
      }),
    ),
    h(
      'p',
      { class: 'dim' },
      'Actions are done with your rights, not with those of the page: ',
      h('span', { class: 'name' }, 'kubectl create token ACCOUNT -n NAMESPACE'),
      '. The token is not stored.',
    ),
    h('p', { role: 'status', 'data-testid': 'action-result' }, said),
  );
}

async function perform({ request }: Offer): Promise<string> {
  try {
    const response = await fetch('/api/action', {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(request),
    });
    const { says } = (await response.json()) as { says: string };
    return response.ok ? `Done: ${says}.` : `Not done: ${says}.`;
  } catch (error) {
    return `Could not ask the server: ${error instanceof Error ? error.message : String(error)}.`;
  }
}
