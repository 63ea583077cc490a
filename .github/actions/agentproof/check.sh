#!/usr/bin/env bash
# shellcheck disable=SC2153  # inputs of the step are in its environment
# Checks the bundles that are kept: offline, nothing of them is run.
source "${BASH_SOURCE[0]%/*}/steps.sh"

mapfile -t bundles < <(paths "$BUNDLES")
options=(--junit "$DIRECTORY/check.junit.xml")
if [ -n "$TRUST" ]; then options+=(--trust "$TRUST"); else options+=(--allow-intact); fi

status=0
as_data agentproof check-current-bundle "${bundles[@]}" "${options[@]}" >&2 || status=$?
case $status in
  0) ;;
  3) failed "a kept bundle is STALE: it is about another source" ;;
  5) failed "a kept bundle is INVALID, or signed by nobody who is trusted" ;;
  6) failed "a kept bundle could not be compared with a wheel from the index" ;;
  *) failed "the kept bundles could not be checked (exit $status)" ;;
esac
