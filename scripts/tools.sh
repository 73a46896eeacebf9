#!/bin/sh
# Checks for the programs that the tests drive, and names the command that installs what is missing.
set -u
missing=""
command -v kcat >/dev/null 2>&1 || missing="$missing kcat"
command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing="$missing chromium"
if [ -n "$missing" ]; then
    echo "The tests also need$missing: apt-get install$missing" >&2
    exit 1
fi
