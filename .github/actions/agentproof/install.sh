#!/usr/bin/env bash
# Installs agentproof from the checkout that this action is part of, once a job.
source "${BASH_SOURCE[0]%/*}/steps.sh"

repository=$(cd "${BASH_SOURCE[0]%/*}/../../.." && pwd)
home="$RUNNER_TEMP/agentproof"
mkdir -p "$home"
chmod 700 "$home"

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "::error::agentproof needs Python 3.11 or newer as python3: use actions/setup-python before this action"
  exit 1
fi
if [ ! -f "$home/venv/complete" ]; then
  python3 -m venv "$home/venv"
  "$home/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$repository"
  touch "$home/venv/complete"
fi
"$home/venv/bin/agentproof" --version

# One directory a use of the action: its zips, pages and JUnit files.
number=1
while ! mkdir "$home/results-$number" 2>/dev/null; do number=$((number + 1)); done
output home "$home"
output directory "$home/results-$number"
