#!/usr/bin/env bash
# shellcheck disable=SC2153  # inputs of the step are in its environment
# Records the reproductions: each by itself, or on the given targets and compared. Another verdict than the
# expected one is for the last step to say: pages and zips are wanted then most of all.
source "${BASH_SOURCE[0]%/*}/steps.sh"

mapfile -t reproductions < <(paths "$REPRODUCTIONS")
mapfile -t targets < <(lines "$TARGETS")
if [ "${#reproductions[@]}" -eq 0 ]; then
  echo "::error::the input reproductions names nothing"
  exit 1
fi
case "${#targets[@]}:$EXPECT" in
  0:|0:violated|0:holds|0:committed) ;;
  0:*) echo "::error::the input expect is violated, holds, committed or empty where there are no targets"; exit 1 ;;
  *:|*:fixed) ;;
  *) echo "::error::the input expect is fixed or empty where there are targets"; exit 1 ;;
esac

options=(--require-isolation "$ISOLATION")
if [ -n "$PYTHON" ]; then options+=(--python "$PYTHON"); fi
if [ -n "$SIGNING_KEY" ]; then
  key=$(umask 077 && mktemp "$AGENTPROOF_HOME/key.XXXXXX")
  trap 'rm -f "$key"' EXIT
  printf '%s\n' "$SIGNING_KEY" >"$key"
  options+=(--key "$key")
fi
unset SIGNING_KEY

# As root the cache and the results would be root's; they go back to the runner's user.
recorder() {
  local status=0
  if [ "$BY" = root ]; then
    sudo -n env "PATH=$PATH" "HOME=$HOME" NO_COLOR=1 "COLUMNS=$COLUMNS" \
      "AGENTPROOF_CACHE_DIR=$AGENTPROOF_CACHE_DIR" "AGENTPROOF_CONFIG_DIR=$AGENTPROOF_CONFIG_DIR" \
      "$AGENTPROOF_HOME/venv/bin/agentproof" "$@" || status=$?
    sudo -n chown -R "$(id -u):$(id -g)" "$AGENTPROOF_HOME"
  else
    agentproof "$@" || status=$?
  fi
  return "$status"
}

# Run agentproof and add what it prints, one line of JSON, to the results.
told() {
  as_data recorder "$1" --json "${@:2}" >>"$DIRECTORY/recordings.jsonl"
}

name_of() {
  local file=${1##*/}
  if [ "$file" = reproduction.py ]; then file=$(basename "$(dirname "$(realpath "$1")")"); fi
  printf '%s' "${file%.py}" | tr -c 'A-Za-z0-9._-' -
}

# A name for the results, then what `record` is given, the reproduction after `--`.
record_as() {
  local name=$1 status=0 expected=()
  shift
  if [ "$EXPECT" = violated ] || [ "$EXPECT" = holds ]; then expected=(--expect "$EXPECT"); fi
  while [ -e "$DIRECTORY/$name.agentproof.zip" ]; do name="$name-again"; done
  echo "recording $name"
  told record "${options[@]}" "${expected[@]}" --output "$DIRECTORY/$name.agentproof.zip" "$@" || status=$?
  case $status in
    0) ;;
    1) failed "$name: not the expected verdict, or an inconclusive one" ;;
    *) failed "$name: could not be recorded (exit $status)" ;;
  esac
}

results() {
  "$AGENTPROOF_HOME/venv/bin/python" "${BASH_SOURCE[0]%/*}/results.py" "$@"
}

# A bundle of the store: its reproduction once more, on its own release.
record_again() {
  local case name committed before words
  case=$(realpath "$(dirname "$1")")
  name="${case##*/}-$(basename "$1" .agentproof.zip)"
  committed=$(results field "$1" evidence_id)
  before=$(wc -l <"$DIRECTORY/recordings.jsonl")
  mapfile -t words < <(results again "$1" "$case")
  record_as "$name" "${words[@]}"
  if [ "$EXPECT" != committed ] || [ "$(wc -l <"$DIRECTORY/recordings.jsonl")" -eq "$before" ]; then return; fi
  if [ "$(tail -n 1 "$DIRECTORY/recordings.jsonl" | results field - evidence_id)" != "$committed" ]; then
    failed "$name: other evidence than the committed bundle's"
  fi
}

: >"$DIRECTORY/recordings.jsonl"
if [ "${#targets[@]}" -gt 0 ]; then
  if [ -n "$EXPECT" ]; then options+=(--expect "$EXPECT"); fi
  status=0
  told compare "${reproductions[@]}" "${targets[@]/#/--with=}" "${options[@]}" \
    --output "$DIRECTORY/comparison.agentproof.zip" --junit "$DIRECTORY/comparison.junit.xml" || status=$?
  case $status in
    0) ;;
    1) failed "a reproduction regressed, or is not as expected" ;;
    *) failed "not everything could be compared (exit $status)" ;;
  esac
else
  for each in "${reproductions[@]}"; do
    if [ -f "$each/manifest.json" ] || [[ $each == *.agentproof.zip ]]; then
      record_again "$each"
    elif [ -d "$each" ]; then
      while IFS= read -r script; do
        # A bundle holds a copy of its script.
        if [ ! -f "${script%/*}/manifest.json" ]; then record_as "$(name_of "$script")" -- "$script"; fi
      done < <(find "$each" -name reproduction.py | sort)
    else
      record_as "$(name_of "$each")" -- "$each"
    fi
  done
fi

results outputs "$DIRECTORY/recordings.jsonl" >>"$GITHUB_OUTPUT"

if [ "$ATTEST" = true ]; then
  # The runner sets this where the job may ask for a token: never for a pull request from a fork.
  if [ -n "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ] && compgen -G "$DIRECTORY/*.agentproof.zip" >/dev/null; then
    output attest true
  else
    echo "::notice::not attested: the job has no id-token permission, or nothing was recorded"
    output attest false
  fi
fi
