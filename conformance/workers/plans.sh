#!/usr/bin/env bash
# A verification worker for plans in bash, curl and sed. It does one task at a time, and heeds no directives.
set -u
mine=$(mktemp -d) task='' version=''
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$mine"' EXIT
trap 'stop' TERM INT

member() { sed -n "s/.*\"$1\": *\(\"\(\([^\"\\\\]\|\\\\.\)*\)\"\|\([0-9]*\)\).*/\2\4/p" <<<"$answer"; }  # as it stands in the JSON
in_path() { printf %b "$1" | od -An -v -tx1 | tr -d '\n' | sed 's/ /%/g'; }

post() {  # PATH TOKEN BODY: sets status and answer, when there is one that counts
  local file="$mine/$BASHPID" pause=0.5 wait_seconds curl_status key="$$-$RANDOM-$RANDOM-$SECONDS"
  while :; do
    curl -s --noproxy '*' -m $((HALL_ANSWER_SECONDS + ${HALL_HOLD_SECONDS%.*} + 1)) -D "$file.head" -o "$file" \
      -w '%{http_code}' "$HALL_SERVER$1" -H "Authorization: Bearer $2" -H "Idempotency-Key: $key" \
      -H 'Content-Type: application/json' -d "$3" >"$file.status" &
    wait $! && curl_status=0 || curl_status=1  # a signal ends this wait, not the one for a command in front
    status=$(<"$file.status") answer=$(cat "$file" 2>/dev/null)
    [ $curl_status -eq 0 ] && case $status in 429 | 5*) ;; *) return ;; esac
    wait_seconds=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]*\)\r*$/\1/p' "$file.head" 2>/dev/null)
    sleep "${wait_seconds:-$pause}" & wait $!
    [ "$pause" = 0.5 ] && pause=1 || pause=$((pause < 30 ? pause * 2 : 60))
  done
}

register() {
  post /workers/register "$HALL_BOOTSTRAP_TOKEN" "{\"hostname\":\"$(hostname)\"}"
  [ "$status" = 201 ] || { echo "not registered: $status" >&2; exit 1; }
  identity="$(member worker_id) $(member token)"
  echo "$identity" >"$mine/identity.new" && mv "$mine/identity.new" "$mine/identity"
}

beat() {
  while sleep "$HALL_HEARTBEAT_SECONDS"; do
    identity=$(<"$mine/identity")
    post "/workers/${identity% *}/heartbeat" "${identity#* }" "{\"worker_id\":\"${identity% *}\"}"
    [[ $answer =~ \"ok\":\ *false ]] && [ -n "${HALL_BOOTSTRAP_TOKEN:-}" ] && register
  done
}

settle() {  # VERB REASON
  post "/tasks/$(in_path "$task")/$1" "${holder#* }" \
    "{\"worker_id\":\"${holder% *}\",\"version\":$version${2+,\"reason\":\"$2\"}}"
}

stop() {
  trap 'exit 1' TERM INT
  [ -n "$task" ] && { settle release shutdown & for _ in {1..20}; do kill -0 $! 2>/dev/null && sleep 0.1; done; }
  exit 0
}

if [ -n "${HALL_BOOTSTRAP_TOKEN:-}" ]; then register; else
  identity="w-shell$$ $HALL_WORKER_TOKEN" && echo "$identity" >"$mine/identity"
fi
beat &
while :; do
  identity=$(<"$mine/identity")
  post /tasks/claim "${identity#* }" "{\"worker_id\":\"${identity% *}\",\"plan_id\":\"$HALL_PLAN\",\"wait\":$HALL_HOLD_SECONDS}"
  case $status in 200) ;; 204) continue ;; *) echo "no claim: $status" >&2; exit 1 ;; esac
  holder=$identity version=$(member version) task=$(member id) description=$(member description)
  [ -n "$version" ] || { task='' && sleep 0.5 && continue; }
  text=${description#* }
  case ${description%% *} in
    fail | crash) settle fail "$text" ;;
    release) settle release "$text" ;;
    slow | stubborn) sleep "$text" & wait $!; settle complete ;;
    *) settle complete ;;
  esac
  task=''
done
