// The output of commands. Escapes control characters, so that no text of an object, event or driver controls the
// terminal.

import { printableLine, printableText } from '../runtime/log/printable.ts';
import { styledLine, wantsColour } from '../runtime/log/styled-text.ts';
import type { CommandOutput, Environment, Output } from './command.ts';
import { ERASE_LINE } from './terminal.ts';

export function printableOutput(stream: Output, env: Environment): CommandOutput {
  const isTTY = stream.isTTY === true;
  const inColour = wantsColour(isTTY, env);
  return {
    isTTY,
    get columns() {
      return isTTY ? stream.columns : undefined;
    },
    write: (text) => stream.write(printableText(text)),
    line: (pieces) => stream.write(`${styledLine(pieces, inColour)}\n`),
    redraw: (line) =>
      stream.redraw
        ? stream.redraw(printableLine(line))
        : stream.write(`${ERASE_LINE}${printableLine(line)}`),
  };
}
