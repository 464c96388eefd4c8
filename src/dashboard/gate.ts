// Who may see the page: whoever has the link that was printed, in a browser of this machine. For the link's token there is
// a cookie that no script can read and no other site can send along, and from which the token cannot be told.

import { Buffer } from 'node:buffer';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export interface Asked {
  readonly path: string;
  readonly token: string | undefined;
  readonly host: string | undefined;
  readonly cookie: string | undefined;
}

export type Admission =
  | { readonly kind: 'admitted' }
  /** Came with the token of the link: gets the cookie, and goes on to the page without it. */
  | { readonly kind: 'welcome'; readonly cookie: string }
  | { readonly kind: 'refused'; readonly status: number; readonly says: string };

/** What this machine is called by itself. A name of anybody else's may have been made to point here. */
const OWN_NAMES = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

/**
 * Cookies go to whoever listens on a port, and to all ports of a host: what another process may get to see there opens
 * no other page, not even ours on another port.
 */
export function createGate(token: string, port: number): (asked: Asked) => Admission {
  const name = `berth-page-${port}`;
  const key = createHmac('sha256', token).update(name).digest('hex');
  return ({ path, token: given, host, cookie }) => {
    if (!OWN_NAMES.test(host ?? '')) {
      return {
        kind: 'refused',
        status: 403,
        says: 'This page is only for the machine that it runs on: open it as localhost.',
      };
    }
    if (path === '/' && given !== undefined && isSame(given, token)) {
      return { kind: 'welcome', cookie: `${name}=${key}; Path=/; HttpOnly; SameSite=Strict` };
    }
    if (isSame(cookieOf(cookie, name) ?? '', key)) return { kind: 'admitted' };
    return {
      kind: 'refused',
      status: 401,
      says: 'Open the link that was printed when the page was started: it has the key to this page.',
    };
  };
}

function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name) return value;
  }
  return undefined;
}

/** In the same time whatever differs. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(Buffer.from(text)).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
