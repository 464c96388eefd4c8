// Access to the page: by the printed link, from a browser on this machine. The link's token is exchanged for a cookie that scripts
// cannot read, other sites cannot send, and that does not reveal the token.

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
  /** The request had the link's token: set the cookie and redirect to the page without the token. */
  | { readonly kind: 'welcome'; readonly cookie: string }
  | { readonly kind: 'refused'; readonly status: number; readonly says: string };

/** Accepted Host names. Any other name may be DNS rebinding. */
const OWN_NAMES = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

/**
 * Browsers send cookies to all ports of a host, so another local process may see this one. It is bound to this port and opens
 * no other page.
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

/** Constant-time comparison. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(Buffer.from(text)).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
