// The page's entry point: mounts it into the document, and renders it again when a message arrives or the address
// changes.

import { h, render } from 'preact';
import { App } from './app.ts';
import { listen } from './live.ts';
import { emptyModel, withMessage } from './model/model.ts';
import { formatRoute, listRoute, parseRoute, type Route } from './model/routes.ts';

/** Messages come in bursts: renders are limited to this rate. A tab in the background still updates its title. */
const DRAW_MS = 40;

let model = emptyModel;
let route = parseRoute(location.hash);
let timer: ReturnType<typeof setTimeout> | undefined;

const live = listen({
  onMessage: (message) => {
    model = withMessage(model, message, Date.now());
    drawSoon();
  },
  onConnection: (connection) => {
    model = { ...model, connection };
    drawSoon();
  },
});

window.addEventListener('hashchange', () => {
  route = parseRoute(location.hash);
  draw();
});

/** `/` goes to the filter, as on many sites; where there is none, to the list of volumes first. */
window.addEventListener('keydown', (event) => {
  const { target } = event;
  const isTyping = target instanceof Element && target.closest('input, textarea, select') !== null;
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (filterField() === null) {
    history.pushState(null, '', formatRoute(listRoute('volumes')));
    route = parseRoute(location.hash);
    draw();
  }
  filterField()?.focus();
});

const filterField = (): HTMLInputElement | null => document.querySelector('input[type="search"]');

function onReplace(next: Route): void {
  history.replaceState(null, '', formatRoute(next));
  route = next;
  draw();
}

function drawSoon(): void {
  timer ??= setTimeout(draw, DRAW_MS);
}

function draw(): void {
  clearTimeout(timer);
  timer = undefined;
  const root = document.getElementById('page');
  if (root !== null) render(h(App, { model, route, onReplace, onRetry: live.retry }), root);
}

draw();
