// klog's flags, which every Kubernetes component takes. `-v` means the same as there. Those about log files and headers are
// accepted without effect, so that existing manifests work: logs go to stderr, one line each.
import { boolFlag, choiceFlag, inGroup, intFlag, stringFlag } from './flag.ts';

const toStderr = 'logs always go to stderr';
const noHeaders = 'lines have no klog header';

export const logFlags = inGroup('Logging', {
  v: intFlag({ help: 'Verbosity: 0 quiet, 4 debug, 5 every CSI call', default: 0, min: 0 }),
  'logging-format': choiceFlag({ help: 'How log lines look', choices: ['text', 'json'], default: 'text' }),
  vmodule: stringFlag({ help: 'Verbosity per file', hidden: true, ignored: 'use -v' }),
  logtostderr: boolFlag({ help: 'Log to stderr', hidden: true, ignored: toStderr }),
  alsologtostderr: boolFlag({ help: 'Log to stderr as well', hidden: true, ignored: toStderr }),
  stderrthreshold: stringFlag({ help: 'Least severity on stderr', hidden: true, ignored: toStderr }),
  'log-dir': stringFlag({ help: 'Directory of log files', hidden: true, ignored: toStderr }),
  'log-file': stringFlag({ help: 'Log file', hidden: true, ignored: toStderr }),
  'log-file-max-size': stringFlag({ help: 'Size of a log file', hidden: true, ignored: toStderr }),
  'log-flush-frequency': stringFlag({
    help: 'Time between flushes',
    hidden: true,
    ignored: 'lines are written at once',
  }),
  'log-backtrace-at': stringFlag({ help: 'Stack at a line', hidden: true, ignored: 'use -v=4' }),
  'one-output': boolFlag({ help: 'One file a line', hidden: true, ignored: toStderr }),
  'add-dir-header': boolFlag({ help: 'Directory in headers', hidden: true, ignored: noHeaders }),
  'skip-headers': boolFlag({ help: 'No headers', hidden: true, ignored: noHeaders }),
  'skip-log-headers': boolFlag({ help: 'No file headers', hidden: true, ignored: noHeaders }),
});
