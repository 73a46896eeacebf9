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
if [ "$lock" = requirements-dev.lock ]; then
    echo "==> Installing PySpark (434 MB are fetched the first time)"
    .venv/bin/python -m broker_core.local.spark_installer --wait ||
        echo "All works but Analytics, whose page says so. Try again: .venv/bin/highwater spark"
fi
echo "==> Installing $lock"
# A lock file names all packages, so that none needs to be looked for.
.venv/bin/pip install --disable-pip-version-check --no-deps --require-hashes -r "$lock"
if [ "$lock" = requirements.lock ]; then
    .venv/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation -q -e .
    .venv/bin/python -m broker_core.local.zookeeper_jars || {
        echo "==> PySpark carries ZooKeeper's jars too: installing it first (434 MB)"
        .venv/bin/pip install --disable-pip-version-check --no-build-isolation --require-hashes -r requirements-spark.lock
    }
fi
touch "$stamp"
