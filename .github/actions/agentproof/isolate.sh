#!/usr/bin/env bash
# Chooses who records: the runner's user, or root by sudo where only root gets a network namespace (Ubuntu
# 24.04 gives ordinary users none). Nothing of the machine is changed.
source "${BASH_SOURCE[0]%/*}/steps.sh"

probe=(
  "$AGENTPROOF_HOME/venv/bin/python" -c
  'import sys
from agentproof.isolation.levels import choose
print("isolation:", choose(sys.argv[1]).level)'
  "$ISOLATION"
)

if "${probe[@]}"; then
  output by user
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null && sudo -n "${probe[@]}"; then
  echo "recording as root, which gives each script a user of its own"
  output by root
else
  echo "::error::this runner cannot hold scripts in as the input isolation asks, not even with sudo"
  exit 1
fi
