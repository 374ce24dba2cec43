#!/usr/bin/env bash
# Lets schemathesis make up requests from openapi.json, good and bad, and send them to the debug binary with the demo model. It holds the
# gateway to its document: no 5xx, and each answer with a status, a content type and a shape that the document has. scripts/e2e-setup
# installs it. The same seed makes the same requests: SCHEMATHESIS_SEED sets another.
set -euo pipefail
cd "$(dirname "$0")/../.."

binary=$PWD/${PORTICO_BIN:-target/debug/portico}
seed=${SCHEMATHESIS_SEED:-20261130}
work=$(mktemp -d)
trap 'kill "${gateway:-}" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT

# a free port is taken by the gateway itself, which says which
(cd "$work" && exec env -i PATH="$PATH" PORTICO__SERVER__BIND=127.0.0.1:0 "$binary" serve) >"$work/log" 2>&1 &
gateway=$!
for _ in $(seq 100); do
  url=$(sed -n 's/^Portico listens on \(http:[^ ]*\).*/\1/p' "$work/log")
  [[ -n $url ]] && break
  kill -0 "$gateway" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.1
done

# What the requests find, for made-up ids would only find 404: a session with a message, one that waits for an approval, one that asks.
field() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }
export PORTICO_SESSION PORTICO_MESSAGE PORTICO_WAITING PORTICO_APPROVAL= PORTICO_ASKING PORTICO_QUESTION=
PORTICO_SESSION=$(curl -sS "$url/v1/sessions" --json '{}' | field id)
PORTICO_MESSAGE=$(curl -sS "$url/v1/sessions/$PORTICO_SESSION/messages" --json '{"text":"hello"}' | field message_id)
PORTICO_WAITING=$(curl -sS "$url/v1/sessions" --json '{}' | field id)
curl -sS "$url/v1/sessions/$PORTICO_WAITING/messages" --json '{"text":"book a canoe"}' >/dev/null
for _ in $(seq 100); do
  PORTICO_APPROVAL=$(curl -sS "$url/v1/sessions/$PORTICO_WAITING/approvals" | grep -o 'apr_[0-9a-f]*') && break
  sleep 0.1
done

key="Authorization: Bearer $(cat "$work/data/local.key")"
PORTICO_ASKING=$(curl -sS "$url/v1/sessions" --json '{"channel":"cli"}' -H "$key" | field id)
curl -sS "$url/v1/sessions/$PORTICO_ASKING/messages" --json '{"text":"ask me something"}' -H "$key" >/dev/null
for _ in $(seq 100); do
  PORTICO_QUESTION=$(curl -sS "$url/v1/sessions/$PORTICO_ASKING/records" | grep -o -m 1 'qst_[0-9a-f]*' | head -n 1) && break
  sleep 0.1
done

# The stream of events has no end, so a client that reads answers whole would wait for ever: tests/it/ reads it instead, and holds each of
# its events to the document. Erasing would take the session away from the other requests; tests/it/ erases.
status=0
HYPOTHESIS_STORAGE_DIRECTORY=$work/hypothesis PYTHONPATH=.cache/e2e/python python3 -m schemathesis.cli --config-file tests/e2e/schemathesis.toml run "$url/openapi.json" \
  --exclude-operation-id follow_session --exclude-operation-id erase_session \
  --seed "$seed" --max-time 30 --request-timeout 10 --no-color || status=$?
kill -0 "$gateway" 2>/dev/null || { echo "contract: the gateway ended" >&2; status=1; }
if ((status)); then
  echo "contract: failed with SCHEMATHESIS_SEED=$seed; the gateway's log:" >&2
  tail -n 40 "$work/log" >&2
fi
exit "$status"
