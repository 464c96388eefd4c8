// A terminal that standard output, standard error and the log share. A status line that is redrawn stays below everything else:
// it is erased before other text is written and drawn again after it.

import type { Output } from './command.ts';

/** Carriage return, then erase to the end of the line. */
export const ERASE_LINE = '\r\u001b[K';

export class Terminal {
  #status = '';

  /** A stream on this terminal. One that is no terminal is left as it is. */
  of(stream: Output): Output {
    if (stream.isTTY !== true) return stream;
    return {
      isTTY: true,
      get columns() {
        return stream.columns;
      },
      write: (text) => {
        if (this.#status === '') return stream.write(text);
        // In one write, so that nothing comes in between. Text without a line break would be drawn over.
        return stream.write(`${ERASE_LINE}${text}${text.endsWith('\n') ? this.#status : ''}`);
      },
      redraw: (line) => {
        this.#status = line;
        return stream.write(`${ERASE_LINE}${line}`);
      },
    };
  }
}
