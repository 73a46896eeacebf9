#!/bin/sh
# Makes .venv and installs a lock file into it: setup.sh PYTHON LOCK STAMP. Says what is missing and how to get it.
set -eu
python=$1 lock=$2 stamp=$3

if [ -z "$python" ]; then
    echo "Python 3.11 or 3.12 is needed and was not found: apt-get install python3 python3-venv (or name one: make PYTHON=/path/to/python3.12)" >&2
    exit 1
fi
java=$(command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java" || true)
version=$("${java:-false}" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1 || true)
if [ "${version:-0}" -lt 17 ]; then
    echo "Java 17 or newer is needed (found: ${version:-none}): apt-get install openjdk-17-jre-headless" >&2
    exit 1
fi

if [ ! -x .venv/bin/pip ]; then
    echo "==> Making .venv with $("$python" --version)"
    "$python" -m venv .venv || {
        echo "The venv module is missing: apt-get install python3-venv" >&2
        exit 1
    }
fi
echo "==> Installing $lock (the first time some 600 MB are fetched, most of it PySpark)"
.venv/bin/pip install --disable-pip-version-check --require-hashes -r "$lock"
if [ "$lock" = requirements.lock ]; then
    .venv/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation -q -e .
    .venv/bin/python -m broker_core.local.zookeeper_jars ||
        echo "ZooKeeper runs from the same jars inside PySpark's package."
    echo "==> Fetching the jars of Spark's Kafka source"
    .venv/bin/python -m workers.spark.jars ||
        echo "The jars could not be had: all works but Analytics, whose page says so. Try again: .venv/bin/python -m workers.spark.jars"
fi
touch "$stamp"
