#!/bin/bash
# postgres.sh up DIR | down DIR | restart DIR: PostgreSQL on loopback in a folder, port from PORT.
# As root it runs as the user postgres, since the server refuses root.
set -eu
word=$1 base=$2 port=${PORT:-15917}
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --init-groups "$@"; else "$@"; fi; }
control() { (cd / && as "$programs/pg_ctl" -D "$base/data" -w -t 60 "$@"); }
start() {
  control -l "$base/log" -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$base -c fsync=off" start
}

case $word in
  up)
    mkdir -p "$base"
    if [ "$(id -u)" = 0 ]; then chown postgres:postgres "$base"; fi
    chmod 755 "$base"
    (cd / && as "$programs/initdb" -D "$base/data" -U bench -A trust >/dev/null)
    start
    as "$programs/createdb" -h 127.0.0.1 -p "$port" -U bench lake
    ;;
  restart) control -m fast stop; start ;;
  down) control -m fast stop ;;
esac
