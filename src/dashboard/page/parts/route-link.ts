// Links within the page.

import { type ComponentChildren, h } from 'preact';
import { formatRoute, type Route } from '../model/routes.ts';

export interface RouteLinkProps {
  readonly route: Route;
  readonly class?: string;
  readonly title?: string;
  readonly children?: ComponentChildren;
}

export function RouteLink({ route, children, ...rest }: RouteLinkProps): ComponentChildren {
  return h('a', { href: formatRoute(route), ...rest }, children);
}
