// The output of commands. Escapes control characters, so that no text of an object, event or driver controls the
// terminal.

import { printableLine, printableText } from '../runtime/log/printable.ts';
import type { CommandOutput, Output } from './command.ts';

/** Carriage return, then erase to the end of the line. */
const ERASE_LINE = '\r\u001b[K';

export function printableOutput(stream: Output): CommandOutput {
  return {
    isTTY: stream.isTTY === true,
    write: (text) => stream.write(printableText(text)),
    redraw: (line) => stream.write(`${ERASE_LINE}${printableLine(line)}`),
  };
}
