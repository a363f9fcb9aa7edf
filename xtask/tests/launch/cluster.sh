#!/bin/sh
# A Slurm cluster in namespaces: the first process of a PID, network, UTS and mount namespace of its own. Each host has its own
# network, name, processes and /var/tmp. When this process ends, the kernel ends all of it.
# cluster.sh DIR HOSTS
set -eu
dir=$1
hosts=$2
mount --make-rprivate /
mount -t tmpfs -o size=240m tmpfs "$dir/small"
hostname control
ip link set lo up
ip link add name bridge type bridge
ip addr add 10.77.0.1/24 dev bridge
ip link set bridge up
{
    echo "127.0.0.1 localhost"
    echo "10.77.0.1 control"
    for i in $(seq 0 $((hosts - 1))); do echo "10.77.0.1$i node$i"; done
} > "$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts
mkdir -m 700 "$dir/munge" "$dir/state"
(umask 077 && head -c 1024 /dev/urandom > "$dir/munge/key")
munged --force --key-file="$dir/munge/key" --socket="$dir/munge.sock" --pid-file="$dir/munge/pid" \
    --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" < /dev/null
cat > "$dir/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=control(10.77.0.1)
SlurmUser=root
AuthInfo=socket=$dir/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmdLogFile=$dir/slurmd-%n.log
SlurmdSpoolDir=$dir/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=5
UnkillableStepTimeout=30
MpiDefault=none
MailProg=/bin/true
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=100000
CONF
for i in $(seq 0 $((hosts - 1))); do
    echo "NodeName=node$i NodeAddr=10.77.0.1$i CPUs=2 RealMemory=512" >> "$dir/slurm.conf"
done
echo "PartitionName=bench Nodes=ALL Default=YES MaxTime=INFINITE State=UP" >> "$dir/slurm.conf"
export SLURM_CONF="$dir/slurm.conf"
slurmctld < /dev/null
for i in $(seq 0 $((hosts - 1))); do
    unshare --net --uts --mount --pid --fork --kill-child --mount-proc sh -c '
        set -eu
        dir=$1 i=$2
        mount --make-rprivate /
        hostname "node$i"
        mount -t tmpfs -o size=16m tmpfs /var/tmp
        if [ -f "$dir/meminfo-node$i" ]; then mount --bind "$dir/meminfo-node$i" /proc/meminfo; fi
        : > "$dir/made-$i"
        while ! ip link show eth0 > /dev/null 2>&1; do sleep 0.02; done
        ip link set lo up
        ip addr add "10.77.0.1$i/24" dev eth0
        ip link set eth0 up
        slurmd -D -N "node$i" & wait
    ' host "$dir" "$i" < /dev/null &
    echo $! > "$dir/host-$i.pid"
    while [ ! -e "$dir/made-$i" ]; do sleep 0.02; done
    ip link add name "host$i" type veth peer name eth0 netns "$(cat "$dir/host-$i.pid")"
    ip link set "host$i" master bridge
    ip link set "host$i" up
done
: > "$dir/up"
# The cluster ends with whoever made it, however that ends: nobody else has the other end of this.
cat > /dev/null
