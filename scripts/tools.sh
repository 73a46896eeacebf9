#!/bin/sh
# Checks for the programs that the tests drive, names the command that installs what is missing, and fetches the Apache Kafka they compare with.
set -u
missing=""
command -v kcat >/dev/null 2>&1 || missing="$missing kcat"
browser=""
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && browser="$name" && break
done
[ -n "$browser" ] || missing="$missing chromium"
if [ -n "$missing" ]; then
    echo "The tests also need$missing: apt-get install$missing" >&2
    exit 1
fi
.venv/bin/python -m tests.support.kafka_jars && .venv/bin/python -m tests.support.framework_jars
