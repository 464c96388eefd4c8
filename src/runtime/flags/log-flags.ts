// klog's flags, which every Kubernetes component takes. `-v` means the same as there. Those about log files and headers are
// accepted without effect, so that existing manifests work: logs go to stderr, one line each.
import { boolFlag, choiceFlag, intFlag, stringFlag } from './flag.ts';

const group = 'Logging';
const toStderr = 'logs always go to stderr';
const noHeaders = 'lines have no klog header';

export const logFlags = {
  v: intFlag({ help: 'Verbosity: 0 quiet, 4 debug, 5 every CSI call', default: 0, min: 0, group }),
  'logging-format': choiceFlag({
    help: 'How log lines look',
    choices: ['text', 'json'],
    default: 'text',
    group,
  }),
  vmodule: stringFlag({ help: 'Verbosity per file', group, hidden: true, ignored: 'use -v' }),
  logtostderr: boolFlag({ help: 'Log to stderr', group, hidden: true, ignored: toStderr }),
  alsologtostderr: boolFlag({ help: 'Log to stderr as well', group, hidden: true, ignored: toStderr }),
  stderrthreshold: stringFlag({ help: 'Least severity on stderr', group, hidden: true, ignored: toStderr }),
  'log-dir': stringFlag({ help: 'Directory of log files', group, hidden: true, ignored: toStderr }),
  'log-file': stringFlag({ help: 'Log file', group, hidden: true, ignored: toStderr }),
  'log-file-max-size': stringFlag({ help: 'Size of a log file', group, hidden: true, ignored: toStderr }),
  'log-flush-frequency': stringFlag({
    help: 'Time between flushes',
    group,
    hidden: true,
    ignored: 'lines are written at once',
  }),
  'log-backtrace-at': stringFlag({ help: 'Stack at a line', group, hidden: true, ignored: 'use -v=4' }),
  'one-output': boolFlag({ help: 'One file a line', group, hidden: true, ignored: toStderr }),
  'add-dir-header': boolFlag({ help: 'Directory in headers', group, hidden: true, ignored: noHeaders }),
  'skip-headers': boolFlag({ help: 'No headers', group, hidden: true, ignored: noHeaders }),
  'skip-log-headers': boolFlag({ help: 'No file headers', group, hidden: true, ignored: noHeaders }),
};
