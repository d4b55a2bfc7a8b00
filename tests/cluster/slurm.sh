#!/usr/bin/env bash
# A private SLURM cluster of one node for tests: bash tests/cluster/slurm.sh up|down
# Linux, root. Debian's packages are installed where they are missing. No systemd, accounting,
# cgroups or GPU are needed: its two GPUs are clones of /dev/null, so that requests are counted.
# SLURM_CPUS (default 2) and SLURM_MEM (megabytes, default 20000) say what the node claims to have.
# Its files lie under SLURM_FOLDER (default /tmp/triptych-slurm), but for two links in /etc/slurm.
set -euo pipefail
folder=${SLURM_FOLDER:-/tmp/triptych-slurm}
host=$(hostname -s)
daemons=(slurmctld slurmd munged)

# Whether the daemon whose pid we wrote runs. The name is checked: a stale pid may be another's.
runs() {
    [ -s "$folder/$1.pid" ] && [ "$(cat "/proc/$(cat "$folder/$1.pid")/comm" 2>/dev/null)" = "$1" ]
}

down() {
    if runs slurmctld && runs slurmd; then # its jobs end before it
        scancel --user="$(id -un)" || true
        for _ in $(seq 60); do squeue -h 2>/dev/null | grep -q . || break; sleep 0.5; done
    fi
    for daemon in "${daemons[@]}"; do
        if runs "$daemon"; then
            pid=$(cat "$folder/$daemon.pid")
            kill "$pid"
            for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
            kill -9 "$pid" 2>/dev/null || true
        fi
        rm -f "$folder/$daemon.pid"
    done
    for file in slurm.conf gres.conf; do
        [ "$(readlink "/etc/slurm/$file" || true)" = "$folder/$file" ] && rm -f "/etc/slurm/$file"
    done
    return 0
}

install_packages() {
    command -v slurmctld munged >/dev/null && return
    echo "installing slurm-wlm and munge" >&2
    # The packages would start daemons of their own; ours are private.
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
}

write_config() {
    mkdir -p "$folder"/{state,spool,log,munge,dev} /etc/slurm
    chmod 755 "$folder" && chmod 711 "$folder/munge"
    (umask 077 && head -c 1024 /dev/urandom >"$folder/munge/key")
    # A GPU must be a character device, or CUDA_VISIBLE_DEVICES stays empty.
    for gpu in 0 1; do mknod "$folder/dev/nvidia$gpu" c 1 3; done
    echo "NodeName=$host Name=gpu File=$folder/dev/nvidia[0-1]" >"$folder/gres.conf"
    cat >"$folder/slurm.conf" <<CONF
ClusterName=triptych
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
SlurmctldPort=16817
SlurmdPort=16818
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
# Without it a job that asks for no memory takes the node's.
DefMemPerCPU=200
# A node may claim more than the machine has.
SlurmdParameters=config_overrides
ReturnToService=2
# Snakemake asks squeue, which must still know of jobs that have ended.
MinJobAge=3600
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
# Seconds between SIGTERM and SIGKILL; SLURM's default is 30.
KillWait=20
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=${SLURM_CPUS:-2} RealMemory=${SLURM_MEM:-20000} Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=0 State=UP
PartitionName=gpu Nodes=$host PriorityTier=1 PreemptMode=REQUEUE GraceTime=0 State=UP
PartitionName=urgent Nodes=$host PriorityTier=10 PreemptMode=OFF State=UP
CONF
    # Snakemake's job steps drop SLURM_CONF, so it must be found where SLURM looks by itself.
    for file in slurm.conf gres.conf; do
        if [ -e "/etc/slurm/$file" ] && [ ! -L "/etc/slurm/$file" ]; then
            echo "/etc/slurm/$file is another cluster's: this machine has a SLURM of its own" >&2
            exit 1
        fi
        ln -sfn "$folder/$file" "/etc/slurm/$file"
    done
}

up() {
    [ "$(id -u)" = 0 ] || { echo "a private SLURM needs root" >&2; exit 1; }
    install_packages
    down
    rm -rf "$folder"
    write_config
    munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" \
        --pid-file="$folder/munged.pid" --log-file="$folder/munge/log" \
        --seed-file="$folder/munge/seed"
    unset SLURM_CONF
    slurmctld -c
    slurmd -c
    for _ in $(seq 150); do
        sinfo -h -o %T 2>/dev/null | grep -qE '^(idle|mixed)' && break
        sleep 0.1
    done
    if ! sinfo -h -o %T | grep -qE '^(idle|mixed)'; then
        tail -n 20 "$folder"/log/*.log >&2
        echo "the node of the private SLURM didn't come up; see the logs above" >&2
        exit 1
    fi
    sinfo -V
}

case ${1:-} in
up) up ;;
down) down ;;
*) echo "usage: bash tests/cluster/slurm.sh up|down" >&2 && exit 2 ;;
esac
