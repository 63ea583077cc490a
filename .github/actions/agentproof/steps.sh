# What the steps of this action share. Inputs come by the environment, never as text of a script; what
# agentproof prints may hold text from a bundle, so it is kept from being read as commands to the runner.
# shellcheck shell=bash
set -euo pipefail

if [ -n "${AGENTPROOF_HOME:-}" ]; then
  export AGENTPROOF_CACHE_DIR="$AGENTPROOF_HOME/cache" AGENTPROOF_CONFIG_DIR="$AGENTPROOF_HOME/config"
  export NO_COLOR=1 COLUMNS=120
fi

agentproof() {
  "$AGENTPROOF_HOME/venv/bin/agentproof" "$@"
}

# Set an output of the step. A line break in a value would begin another output.
output() {
  if [[ $2 == *$'\n'* || $2 == *$'\r'* ]]; then
    echo "the output $1 holds a line break" >&2
    return 1
  fi
  printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

# The lines of an input without blanks around them, empty ones left out.
lines() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    if [ -n "$line" ]; then printf '%s\n' "$line"; fi
  done <<<"$1"
}

# The paths that the lines of an input name; a pattern without a match stands for itself, and is missed later.
# None of them looks like an option.
paths() {
  local pattern
  while IFS= read -r pattern; do
    { compgen -G "$pattern" || printf '%s\n' "$pattern"; } | sort -V | sed 's|^-|./-|'
  done < <(lines "$1")
}

# Run a command whose standard error is data to the runner, whatever lines it holds.
as_data() {
  local token status=0
  token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
  echo "::stop-commands::$token" >&2
  "$@" || status=$?
  echo "::$token::" >&2
  return "$status"
}

# Remember what is wrong: the last step says it and fails.
failed() {
  printf '%s\n' "${1//[$'\r\n']/ }" >>"$DIRECTORY.failed"
}
