// A command, with a button that copies it.

import { type ComponentChildren, h } from 'preact';
import { useState } from 'preact/hooks';

export function CopyCommand({ command }: { command: string }): ComponentChildren {
  const [result, setResult] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(command);
      setResult('copied');
    } catch {
      setResult('the browser did not allow it: select the text instead');
    }
  };
  return h(
    'div',
    { class: 'command' },
    h('pre', { tabIndex: 0, 'data-testid': 'command' }, command),
    h('button', { type: 'button', 'data-testid': 'copy', onClick: () => void copy() }, 'Copy'),
    h('span', { class: 'dim', role: 'status' }, result),
  );
}
