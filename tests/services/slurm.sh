#!/bin/bash
# slurm.sh up DIR | down DIR: a Slurm of one node on loopback in a folder, as root; ports from PORT.
# ACCOUNTING=no: without slurmdbd and its database, so that only scontrol knows jobs.
set -u
word=$1 base=$2
host=$(hostname -s) port=${PORT:-16917} accounting=${ACCOUNTING:-yes}
export SLURM_CONF=$base/etc/slurm.conf

wait_for() { # SECONDS COMMAND...
  local until=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $until ] || { echo "error: not in time: $*" >&2; tail -n 5 "$base"/log/*.log >&2; exit 1; }
    sleep 0.2
  done
}

gone() { # ended, or a zombie that nobody waits for
  ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

if [ "$word" = down ]; then
  for name in slurmd slurmctld slurmdbd mariadbd munged; do
    file=$base/run/$name.pid
    [ -f "$file" ] || continue
    pid=$(cat "$file")
    kill "$pid" 2>/dev/null && wait_for 15 gone "$pid"
  done
  exit 0
fi

mkdir -p "$base"/{etc,run,log,state,spool,munge,db}
chmod 700 "$base/munge"
head -c 1024 /dev/urandom >"$base/munge/key"
chmod 400 "$base/munge/key"
munged --force --key-file="$base/munge/key" --socket="$base/munge/sock" --num-threads=2 \
  --pid-file="$base/run/munged.pid" --log-file="$base/log/munged.log" --seed-file="$base/munge/seed"

cat >"$base/etc/slurm.conf" <<END
ClusterName=benchtest
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket=$base/munge/sock
StateSaveLocation=$base/state
SlurmdSpoolDir=$base/spool
SlurmctldPidFile=$base/run/slurmctld.pid
SlurmdPidFile=$base/run/slurmd.pid
SlurmctldLogFile=$base/log/slurmctld.log
SlurmdLogFile=$base/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1500
KillWait=5
MinJobAge=300
MaxArraySize=4
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=8000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END

if [ "$accounting" = yes ]; then
  cat >>"$base/etc/slurm.conf" <<END
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 2))
AccountingStoragePass=$base/munge/sock
END
  cat >"$base/etc/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$base/munge/sock
DbdHost=$host
DbdAddr=127.0.0.1
DbdPort=$((port + 2))
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((port + 3))
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
CommunicationParameters=NoInAddrAny
LogFile=$base/log/slurmdbd.log
PidFile=$base/run/slurmdbd.pid
END
  chmod 600 "$base/etc/slurmdbd.conf"
  sql() { mariadb --no-defaults -S "$base/db/sock" -e "$1"; }
  mariadb-install-db --no-defaults --datadir="$base/db/data" --user=root --skip-test-db \
    --auth-root-authentication-method=normal >"$base/log/install.log" 2>&1
  setsid mariadbd --no-defaults --user=root --datadir="$base/db/data" --socket="$base/db/sock" \
    --port=$((port + 3)) --bind-address=127.0.0.1 --pid-file="$base/run/mariadbd.pid" \
    --innodb-buffer-pool-size=64M >"$base/log/mariadbd.log" 2>&1 &
  wait_for 30 sql 'select 1'
  sql "create database slurm_acct; create user 'slurm'@'%' identified by 'slurm'; grant all on slurm_acct.* to 'slurm'@'%';"
  slurmdbd
  wait_for 30 sacctmgr -n show cluster
  sacctmgr -iQ add cluster benchtest >/dev/null
  sacctmgr -iQ add account acct Cluster=benchtest >/dev/null
  sacctmgr -iQ add user root Account=acct >/dev/null
fi

slurmctld -c
wait_for 30 sinfo -h
slurmd -N "$host"
wait_for 30 sh -c 'sinfo -h -o %T | grep -q idle'
