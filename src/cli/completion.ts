// `berth completion SHELL`: a script that lets the shell complete commands, flags, kinds and names of objects.

import { defineCommand, UsageError } from './command.ts';

/** Files are completed where berth has no candidate. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_berth() {
  local IFS=$'\\n'
  COMPREPLY=($(berth complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [ \${#COMPREPLY[@]} -eq 0 ]; then compopt -o default; fi
}
complete -F _berth berth
`,
  zsh: `#compdef berth
_berth() {
  local -a found
  found=("\${(@f)$(berth complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _berth berth
`,
  fish: `function __berth_complete
  set -l found (berth complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c berth -f -a '(__berth_complete)'
`,
};
const SHELLS = Object.keys(SCRIPTS);

export const command = defineCommand({
  summary: 'Prints a script for shell completion: bash, zsh or fish',
  description:
    'bash: `source <(berth completion bash)` in ~/.bashrc. zsh: `source <(berth completion zsh)` in ~/.zshrc, after compinit. ' +
    'fish: `berth completion fish > ~/.config/fish/completions/berth.fish`. Names of objects come from the cluster of the kubeconfig.',
  arguments: { usage: SHELLS.join('|'), min: 1, max: 1 },
  completes: SHELLS,
  flags: {},
  async run({ args, stdout }) {
    const [shell = ''] = args;
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (script === undefined) throw new UsageError(`expected ${SHELLS.join(', ')}, got ${shell}`);
    stdout.write(script);
  },
});
