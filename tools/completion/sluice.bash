# Completion of sluice for bash. Commands and options are those that --help names, so they need no list here.

# _sluice_commands: the names of the commands.
_sluice_commands() {
  sluice --help 2>/dev/null | sed -n 's/^  sluice \([a-z][a-z-]*\).*/\1/p'
}

# _sluice_options COMMAND: its options.
_sluice_options() {
  sluice "$1" --help 2>/dev/null | grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u
  echo --help
}

# _sluice_runs: names and numbers of the runs that go on.
_sluice_runs() {
  sluice ls 2>/dev/null | awk '!/^ / { print $1; print $2 }'
}

_sluice() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} at
  COMPREPLY=()
  # what follows -- is a command of its own
  for ((at = 2; at < COMP_CWORD; ++at)); do
    if [ "${COMP_WORDS[at]}" = -- ]; then
      if ((at + 1 == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -- "$word"); else mapfile -t COMPREPLY < <(compgen -f -- "$word"); fi
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$(_sluice_commands) --help --version" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_sluice_options "$command")" -- "$word")
  elif [ "$before" = --progress ]; then
    mapfile -t COMPREPLY < <(compgen -W "auto lines json none" -- "$word")
  else
    case $command in
      ls | status | serve | attach) mapfile -t COMPREPLY < <(compgen -W "$(_sluice_runs)" -- "$word") ;;
      run | check | graph | verify) mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X '!*.y*ml' -- "$word") ;;
      *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
  fi
}

complete -o filenames -F _sluice sluice
