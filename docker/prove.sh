#!/usr/bin/env bash
# Builds the images and runs the compose file with podman, as root on a machine that need not have an image, a registry or systemd:
# the base image is made by debootstrap, unless BASE names one. Then: all parts healthy, records in and out through the published
# ports, a broker's container killed without a record lost, the console's page, a job asked for eight times at once; with PROFILE_SERVICES
# also Prometheus's targets, rules and panels, an alert, and an analysis on the Spark master; at the end all is taken away.
#
#   apt-get install podman buildah podman-compose runc netavark aardvark-dns iptables debootstrap catatonit kcat curl
#   docker/prove.sh [FOLDER]     FOLDER holds images and volumes while it runs (default: a temporary one)
#
# DEBIAN_MIRROR, DEBIAN_SECURITY_MIRROR, PIP_INDEX_URL: as in README.md. PORTS: the first of five free ports (21710). KEEP=1: FOLDER stays.
# PROFILE_SERVICES: more services to start ("demo spark-master spark-worker prometheus"). The panels show the demo's traffic: prometheus wants demo.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$(mktemp -d /tmp/highwater-containers-XXXXXX)}
mkdir -p "$folder"
first=${PORTS:-21710}
export HIGHWATER_BROKER_1_PORT=$first HIGHWATER_BROKER_2_PORT=$((first + 1)) HIGHWATER_BROKER_3_PORT=$((first + 2))
export HIGHWATER_CONSOLE_PORT=$((first + 3)) HIGHWATER_ORIGINS=http://127.0.0.1:$((first + 3))
export HIGHWATER_PROMETHEUS_PORT=$((first + 4)) HIGHWATER_PROMETHEUS_IMAGE=localhost/highwater-prometheus:latest HIGHWATER_ANALYTICS_MINUTES=0
export CONTAINERS_CONF=$folder/containers.conf CONTAINERS_STORAGE_CONF=$folder/storage.conf
export BASE=${BASE:-localhost/highwater-base:bookworm}
services="zookeeper redis postgres broker-1 broker-2 broker-3 console live collect history reader worker beat ${PROFILE_SERVICES:-}"
url=http://127.0.0.1:$HIGHWATER_CONSOLE_PORT
prometheus=http://127.0.0.1:$HIGHWATER_PROMETHEUS_PORT
seen=0 held=0

say() { printf '\n[%s] %s\n' "$(date +%T)" "$*"; }
compose() { (cd "$here" && podman-compose -p highwater -f compose.yaml "$@"); }
name() { echo "highwater_$1_1"; }
started() { [[ " $services " == *" $1 "* ]]; }
if started spark-master; then export HIGHWATER_SPARK_MASTER=spark://spark-master:7077; fi

clean_up() {
    status=$?
    if [ $held -eq 0 ] && [ $seen -eq 1 ]; then
        for service in $services; do
            say "the end of $service"
            podman logs --tail 15 "$(name "$service")" 2>&1 || true
        done
    fi
    say "taking all away"
    compose down -v -t 20 > "$folder/down.log" 2>&1 || true
    if [ -z "${KEEP:-}" ]; then
        podman system reset --force > /dev/null 2>&1 || true
        rm -rf "$folder"
    fi
    if [ $held -eq 1 ]; then say "all held"; else say "FAILED with $status"; fi
}
trap clean_up EXIT

within() { # within SECONDS COMMAND…: until it succeeds
    local limit=$(($(date +%s) + $1)); shift
    until "$@" > "$folder/last.log" 2>&1; do
        if [ "$(date +%s)" -ge "$limit" ]; then
            cat "$folder/last.log"
            echo "not in time: $*"
            return 1
        fi
        sleep 2
    done
}

make_base() {
    local root=$folder/rootfs
    debootstrap --variant=minbase bookworm "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} > "$folder/debootstrap.log"
    # What this machine trusts beside Debian's authorities, for package servers behind a gateway of its own.
    mkdir -p "$root/usr/local/share/ca-certificates"
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp {} "$root/usr/local/share/ca-certificates/" \;
    tar -C "$root" -c . | podman import - "$BASE" > /dev/null
    rm -rf "$root"
}

build() {
    for target in zookeeper redis postgres app spark $(started prometheus && echo prometheus); do
        say "image $target"
        podman build --layers --network=host -q -f "$here/Dockerfile" --target "$target" -t "localhost/highwater-$target:latest" \
            --build-arg BASE="$BASE" --build-arg DEBIAN_MIRROR="${DEBIAN_MIRROR:-}" \
            --build-arg DEBIAN_SECURITY_MIRROR="${DEBIAN_SECURITY_MIRROR:-}" --build-arg PIP_INDEX_URL="${PIP_INDEX_URL:-}" "$here/.."
    done
}

produce() { seq "$2" "$3" | kcat -b "$1" -P -t proof -X acks=all -X message.timeout.ms=60000; }
consumed() { kcat -b "$1" -C -t proof -e -q -o beginning 2> /dev/null | sort -n | uniq | wc -l; }
all_there() { [ "$(consumed "$1")" -eq "$2" ]; }
in_sync() { kcat -b "127.0.0.1:$1" -L -t proof | grep -c 'isrs: [0-9]*,[0-9]*,[0-9]*' | grep -qx 3; }

sign_in() {
    rm -f "$folder/cookies"
    curl -sf -c "$folder/cookies" -o /dev/null "$url/login"
    curl -sf -b "$folder/cookies" -c "$folder/cookies" -o /dev/null -w '%{http_code}' -H "Origin: $url" \
        --data-urlencode username=admin --data-urlencode "password=$(cat "$here/secrets/admin_password")" \
        --data-urlencode "csrfmiddlewaretoken=$(awk '$6 == "csrftoken" {print $7}' "$folder/cookies")" "$url/login" | grep -q 302
}
page_names_the_topic() { curl -sf -b "$folder/cookies" "$url/topics" > "$folder/page.html" && grep -q proof "$folder/page.html"; }

rest() { # rest METHOD PATH [BODY]: the answer's JSON
    curl -sf -X "$1" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' ${3:+--data "$3"} "$url/api/v1/$2"
}
field() { python3 -c 'import functools, json, sys; print(functools.reduce(lambda at, key: at[key], sys.argv[1].split("."), json.load(sys.stdin)))' "$1"; }
job_is_over() { rest GET "jobs/$1" > "$folder/job.json" && ! field state < "$folder/job.json" | grep -Eq 'queued|running'; }

value() { # value QUERY: of its first series
    curl -sfG --data-urlencode "query=$1" "$prometheus/api/v1/query" \
        | python3 -c 'import json, sys; found = json.load(sys.stdin)["data"]["result"]; print(found[0]["value"][1] if found else "nothing")'
}
is() { [ "$(value "$1")" = "$2" ] || { echo "$1 is $(value "$1"), not $2"; return 1; }; }

prove_monitoring() {
    say "Prometheus: its files, as promtool in the container reads them"
    for files in "config prometheus.yml" "rules rules.yml"; do
        podman exec "$(name prometheus)" promtool check "${files% *}" "/etc/prometheus/${files#* }"
    done
    podman exec "$(name prometheus)" promtool test rules /etc/prometheus/rules_test.yml
    within 120 is 'count(up == 1)' 4
    curl -sf "$prometheus/api/v1/targets" | python3 -c 'import json, sys
for target in json.load(sys.stdin)["data"]["activeTargets"]: print(target["scrapeUrl"], target["health"])'
    within 180 python3 "$here/prometheus/panels.py" "$prometheus" "$here"/grafana/dashboards/*.json
    say "what the panels of Grafana ask, asked:"
    cat "$folder/last.log"
    within 120 is 'count(ALERTS{alertstate="firing"}) or vector(0)' 0
    say "no alert fires"
}

prove_spark() {
    say "an analysis on $HIGHWATER_SPARK_MASTER, asked for by REST as an operator"
    token=$(podman exec "$(name console)" python manage.py token_create proof --role operator --days 1 | tail -n 1)
    job=$(rest POST jobs '{"cluster": "local", "kind": "analytics"}' | field id)
    within 600 job_is_over "$job"
    echo "job $job $(field state < "$folder/job.json"): $(field message < "$folder/job.json")"
    [ "$(field state < "$folder/job.json") $(field result.new < "$folder/job.json")" = "succeeded True" ] || { cat "$folder/job.json"; return 1; }
    podman exec "$(name spark-master)" python -c 'import json, urllib.request
master = json.load(urllib.request.urlopen("http://spark-master:8080/json/"))
for app in master["completedapps"]: print("the master:", app["name"], app["state"], app["duration"], "ms")
assert [app["state"] for app in master["completedapps"] if app["name"] == "highwater-analytics"] == ["FINISHED"], master'
    podman exec "$(name spark-worker)" python -c 'import json, urllib.request
worker = json.load(urllib.request.urlopen("http://127.0.0.1:8081/json/"))
for one in worker["finishedexecutors"]: print("the worker: executor", one["id"], "of", one["appid"], one["memory"], "MB")
assert worker["finishedexecutors"], worker'
    curl -sf -b "$folder/cookies" "$url/analytics" > "$folder/page.html"
    grep -q proof "$folder/page.html" || { echo "the analytics page does not name the topic"; return 1; }
    say "computed there; the analytics page shows the topic's throughput"
}

cat > "$CONTAINERS_STORAGE_CONF" <<END
[storage]
driver = "overlay"
graphroot = "$folder/storage"
runroot = "$folder/run"
END
cat > "$CONTAINERS_CONF" <<END
[containers]
default_ulimits = ["nofile=1000:1000", "nproc=1000:1000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
END

say "$(podman --version), $(podman-compose version 2> /dev/null | head -n 1)"
if ! podman image exists "$BASE"; then
    say "base image"
    make_base
fi
build
podman images --format '{{.Repository}} {{.Size}}' | grep highwater- || true

say "starting"
"$here/secrets.sh"
seen=1
# shellcheck disable=SC2086 # a list of names
compose up -d --no-build $services > "$folder/up.log" 2>&1
for service in $services; do
    within 300 podman healthcheck run "$(name "$service")"
    say "$service is healthy, as $(podman exec "$(name "$service")" id -u), root file system $(podman inspect --format '{{.HostConfig.ReadonlyRootfs}}' "$(name "$service")" | sed 's/true/read-only/')"
done

for service in $services; do podman port "$(name "$service")"; done | tee "$folder/ports"
if grep -v -- '-> 127.0.0.1:' "$folder/ports"; then echo "published to more than the loopback"; exit 1; fi
if started prometheus; then prove_monitoring; fi

say "producing through port $HIGHWATER_BROKER_1_PORT"
within 120 produce "127.0.0.1:$HIGHWATER_BROKER_1_PORT" 1 10000
within 120 in_sync "$HIGHWATER_BROKER_1_PORT"
within 120 all_there "127.0.0.1:$HIGHWATER_BROKER_2_PORT" 10000
say "10000 records read back through port $HIGHWATER_BROKER_2_PORT; what the host is told:"
kcat -b "127.0.0.1:$HIGHWATER_BROKER_1_PORT" -L -t proof

say "killing broker 2's container"
podman kill --signal KILL "$(name broker-2)"
within 120 produce "127.0.0.1:$HIGHWATER_BROKER_1_PORT" 10001 20000
within 120 all_there "127.0.0.1:$HIGHWATER_BROKER_3_PORT" 20000
say "20000 records read without it"
if started prometheus; then
    within 240 is 'ALERTS{alertname="BrokerDown", alertstate="firing"}' 1
    say "BrokerDown fires for it"
fi
podman start "$(name broker-2)" > /dev/null
within 300 podman healthcheck run "$(name broker-2)"
within 180 in_sync "$HIGHWATER_BROKER_1_PORT"
within 120 all_there "127.0.0.1:$HIGHWATER_BROKER_2_PORT" 20000
say "it is back, in sync again"

say "the console"
within 120 sign_in
within 120 page_names_the_topic
say "signed in; the topics page names the topic. Database:"
podman exec -i "$(name console)" python - << 'END'
import os, threading
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
import django
django.setup()
from django.db import connection, connections
from console.errors import Conflict
from console.actions.jobs import create_job
from console.models import Cluster, Event
from console.roles import Actor

cursor = connection.cursor()
cursor.execute("select version()")
print(cursor.fetchone()[0])
cluster, made, gate = Cluster.objects.get(pk="local"), [], threading.Barrier(8)
event = Event.objects.create(cluster=cluster, at_ms=1, kind="proof", level="info", sentence="a\0b", group="a\0b")
assert Event.objects.get(pk=event.pk).group == "a\0b"
event.delete()
print("a NUL in a group's name is kept")


def ask():
    gate.wait()
    try:
        made.append(create_job(Actor("proof", "admin", "shell"), cluster, "health_report", {}))
    except Conflict:
        pass
    finally:
        connections.close_all()


threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("a job asked for 8 times at once was made", len(made), "time(s)")
assert len(made) == 1
END

if started spark-master; then prove_spark; fi

say "stopping by SIGTERM"
for service in beat worker reader history collect live console broker-3 $(started prometheus && echo prometheus); do
    podman stop -t 60 "$(name "$service")" > /dev/null
    say "$service ended with $(podman inspect --format '{{.State.ExitCode}}' "$(name "$service")")"
    [ "$(podman inspect --format '{{.State.ExitCode}}' "$(name "$service")")" -eq 0 ]
done
held=1
