#!/usr/bin/env bash
# Rolls the processes of this machine to another build, one after the other, while the others serve: deploy/roll.sh FOLDER
# The folder holds the built version. The way back is the same, with the folder of the build before.
#
# Settings, of the environment:
#   CURRENT  the link to the running build, from which the processes start
#   APIS     ports of the API processes; two or more
#   WORKERS  ports of the workers, for their health; may be empty
#   START, STOP  commands that get sameday-api@PORT or sameday-worker@PORT; STOP returns once the process is gone
#   CHECK    what runs the new build's check with the settings of the service; `true` leaves it out
#   READY_SECONDS, SETTLE_SECONDS  longest wait for a new process, and the pause after it
set -euo pipefail

: "${CURRENT:=/opt/sameday/current}" "${APIS:=8081 8082}" "${WORKERS=8091}"
: "${START:=systemctl start}" "${STOP:=systemctl stop}"
: "${CHECK:=systemd-run --quiet --pipe --wait --collect --same-dir --uid=sameday -p EnvironmentFile=/etc/sameday.env}"

# Longest wait for /readyz of a new process. The first one changes the tables, which may take minutes.
READY_SECONDS=${READY_SECONDS:-600}
# Longest wait for the port of a stopped process to be free. STOP has waited for the process itself.
GONE_SECONDS=10
# Wait before the next process is stopped: the balancer looks every 0.5 s, and a slow look takes up to 3 s.
SETTLE_SECONDS=${SETTLE_SECONDS:-4}

say() { echo "$(date +%T) $*"; }

fail() {
  # Nothing cuts the way back short.
  trap '' INT TERM HUP PIPE
  trap - EXIT
  # Before a word is said, as the terminal may be gone. A process that ends by itself starts again as the build that is
  # known to work.
  if [[ -n ${before:-} ]] && point_to "$before"; then rm -f "$CURRENT.before"; fi
  say "The roll stopped: $*" >&2
  if [[ -n ${before:-} ]]; then
    echo "Processes that were not rolled still run $before. To go back with all of them: $0 $before" >&2
  fi
  exit 1
}

point_to() {
  ln -sfn "$1" "$CURRENT.next"
  mv -T "$CURRENT.next" "$CURRENT"
}

is_ready() { curl -sf -m 3 -o /dev/null "http://127.0.0.1:$1/readyz"; }

# Whether nothing takes a connection, which curl says by 7.
is_gone() {
  local code=0
  curl -s -m 3 -o /dev/null "http://127.0.0.1:$1/healthz" || code=$?
  [[ $code -eq 7 ]]
}

# within SECONDS COMMAND…: whether the command succeeds within the time.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.5
  done
}

other_is_ready() {
  for port in $APIS; do [[ $port == "$1" ]] || ! is_ready "$port" || return 0; done
  return 1
}

# roll KIND PORT
roll() {
  local unit="sameday-$1@$2" started
  if [[ $1 == api ]] && is_ready "$2" && ! other_is_ready "$2"; then
    fail "no other API process is ready while $unit stops."
  fi
  say "$unit stops"
  $STOP "$unit" 9>&- || fail "$unit could not be stopped."
  within "$GONE_SECONDS" is_gone "$2" || fail "port $2 is still taken after $unit was stopped."
  started=$SECONDS
  $START "$unit" 9>&- || fail "$unit could not be started."
  within "$READY_SECONDS" is_ready "$2" || fail "$unit was not ready within $READY_SECONDS s; its log says why."
  say "$unit is ready after $((SECONDS - started)) s"
}

(($# == 1)) || { echo "Usage: $0 FOLDER" >&2; exit 2; }
new=$(readlink -e "$1") || fail "there is no folder $1."
# The build writes it last.
[[ -f $new/dist/.build-hash ]] || fail "$new has no dist/.build-hash: build it first."
[[ $(wc -w <<< "$APIS") -ge 2 ]] || fail "APIS names fewer than two processes."
# Closed for what START starts, which would hold it.
exec 9> "$CURRENT.lock"
flock -n 9 || fail "another roll is under way."
current=$(readlink -e "$CURRENT") || fail "$CURRENT is no link to a build."

cd "$new"
$CHECK node dist/cli.js check --roll || fail "the check of $new failed."

# After a roll that was killed, the link leads to a build that may not run everywhere. After a day it counts as one that
# does.
kept=$(find "$CURRENT.before" -newermt '1 day ago' 2>/dev/null) || kept=
before=$(readlink -e "$kept" || echo "$current")
trap 'fail "it was interrupted."' INT TERM HUP EXIT
ln -sfn "$before" "$CURRENT.before"
point_to "$new"
# Those that serve nobody come first: of a roll that stopped, it is the one that failed.
ready=() unready=()
for port in $APIS; do if is_ready "$port"; then ready+=("$port"); else unready+=("$port"); fi; done
for port in "${unready[@]}" "${ready[@]}"; do
  roll api "$port"
  sleep "$SETTLE_SECONDS"
done
for port in $WORKERS; do roll worker "$port"; done
trap - INT TERM HUP EXIT
rm "$CURRENT.before"
say "All processes run $new. The way back: $new/deploy/roll.sh $before"
