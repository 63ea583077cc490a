#!/usr/bin/env bash
# Fails where a step has noted something.
source "${BASH_SOURCE[0]%/*}/steps.sh"

if [ ! -s "$DIRECTORY.failed" ]; then
  exit 0
fi
while IFS= read -r line; do
  line=${line//'%'/%25}
  echo "::error::$line"
done <"$DIRECTORY.failed"
exit 1
