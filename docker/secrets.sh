#!/bin/sh
# Makes what is missing of docker/secrets/: the passwords that the containers get as files. The folder is its owner's only; the files
# in it can be read by all, since a container's user is not the owner. Written once: to change one, see README.md.
set -eu
umask 077
folder=$(cd "$(dirname "$0")" && pwd)/secrets
mkdir -p "$folder"
random() { LC_ALL=C tr -dc 'A-Za-z0-9' < /dev/urandom | head -c "$1"; }
secret() {
    [ -s "$folder/$1" ] || printf '%s\n' "$2" > "$folder/$1"
    chmod 0444 "$folder/$1"
}
secret secret_key "$(random 60)"
secret admin_password "$(random 16)"
secret metrics_token "$(random 40)"
secret postgres_password "$(random 32)"
secret database_url "postgres://highwater:$(cat "$folder/postgres_password")@postgres:5432/highwater"
[ -s "$folder/redis_url" ] && [ -s "$folder/redis_acl" ] || {
    password=$(random 32)
    rm -f "$folder/redis_url" "$folder/redis_acl"
    secret redis_acl "user default on >$password ~* &* +@all"
    secret redis_url "redis://:$password@redis:6379/0"
}
