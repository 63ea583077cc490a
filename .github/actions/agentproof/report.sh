#!/usr/bin/env bash
# Writes a page for each zip, and the job's summary. Text from bundles is escaped by agentproof.
source "${BASH_SOURCE[0]%/*}/steps.sh"

summary() { cat >>"$GITHUB_STEP_SUMMARY"; }

mapfile -t archives < <(compgen -G "$DIRECTORY/*.agentproof.zip")
printf '## agentproof\n\n' | summary
for archive in "${archives[@]}"; do
  as_data agentproof report "$archive" --format html --output "${archive%.agentproof.zip}.html" ||
    failed "no page of ${archive##*/}"
done
if [ "${#archives[@]}" -gt 0 ]; then
  agentproof report "${archives[@]}" --format summary | summary
else
  printf 'Nothing was recorded.\n' | summary
fi
if [ -n "$BUNDLES" ]; then
  mapfile -t bundles < <(paths "$BUNDLES")
  options=()
  if [ -n "$TRUST" ]; then options+=(--trust "$TRUST"); fi
  printf '\n### Kept bundles\n\n' | summary
  agentproof report "${bundles[@]}" "${options[@]}" --format summary | summary || failed "no table of the kept bundles"
fi
if [ -s "$DIRECTORY.failed" ]; then
  # Names of files stand in here; a fence holds them as long as it is the only one.
  { printf '\n### What fails this job\n\n~~~~text\n'; tr '~`' '--' <"$DIRECTORY.failed"; printf '~~~~\n'; } | summary
fi
