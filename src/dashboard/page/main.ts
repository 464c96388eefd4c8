// Where the page begins: puts it into the document.

import { h, render } from 'preact';

const root = document.getElementById('page');
if (root !== null) render(h('p', null, 'Berth'), root);
