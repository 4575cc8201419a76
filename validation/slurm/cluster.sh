# shellcheck shell=bash
# A Slurm cluster of four nodes on this machine, for the duration of one test. Tests are called with the program
# as their argument, and start with
#
#   source "$(dirname "$0")/cluster.sh"
#   enter_cluster "$0" "$@"
#
# enter_cluster runs the test again in its own namespaces (processes, mounts, network, host name) and starts the
# cluster there. The test continues on a login node. The nodes n1 to n4 each have their own processes, host
# name, address, shared memory and temporary folder, and share one bridge. All files are on an in-memory file
# system. Nothing is visible from outside, and no other Slurm or munge is touched. However the test ends, the
# kernel removes everything with it.

set -euo pipefail

readonly nodes=(n1 n2 n3 n4)
readonly cluster=/run/cluster    # Slurm's state and logs
readonly users="/run/the users"  # shared by all nodes; tests run there
readonly home="$users/trireme"   # the program and its scripts
readonly TRIREME=$home/build/release/bin/trireme

skip() {
    echo "SKIPPED: $*"
    exit 77
}

say() { echo "--- $*" >&2; }

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# --- namespaces -------------------------------------------------------------------------------------------------
own_namespaces=(--mount --pid --fork --kill-child=KILL --mount-proc --uts --ipc)

enter_cluster() { # the test's own file, the program
    if [ "${IN_CLUSTER:-}" = yes ]; then
        trap leave_cluster EXIT
        start_cluster "$2"
        return
    fi
    [ "$(id -u)" -eq 0 ] || skip "starting a Slurm cluster needs root"
    local command
    for command in slurmctld slurmd srun munged ip unshare; do
        command -v "$command" >/dev/null || skip "there is no $command (Debian: slurm-wlm, munge, iproute2)"
    done
    unshare "${own_namespaces[@]}" --net true 2>/dev/null || skip "this machine does not allow unsharing namespaces"
    IN_CLUSTER=yes exec unshare "${own_namespaces[@]}" --net bash "$@"
}

# Prints the end of the logs, which are removed with the cluster.
leave_cluster() {
    local code=$?
    if [ "$code" -ne 0 ]; then
        tail -n 40 "$cluster"/log/* >&2 || true
        scontrol --oneliner show jobs >&2 || true
    fi
    exit "$code"
}

# --- the cluster ------------------------------------------------------------------------------------------------
start_cluster() { # the program
    mount -t tmpfs tmpfs /run
    mkdir -p "$cluster"/{log,state}
    install_program "$1"
    lay_network
    choose_network
    start_munge
    write_slurm_conf
    export SLURM_CONF=$cluster/slurm.conf TMPDIR=/run/node
    mkdir /run/node
    chmod 1777 /run/node
    slurmctld -L "$cluster/log/slurmctld"
    local node
    for node in "${nodes[@]}"; do
        start_node "$node"
    done
    wait_for "four idle nodes" 120 nodes_are_idle
}

# Copies the files that the tests use to a folder that other users than root can read and whose path contains a
# blank.
install_program() { # the program
    local source
    source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
    mkdir -p "$home/build/release/bin" "$home/perf"
    cp "$1" "$(dirname "$1")/perf_study" "$home/build/release/bin/"
    cp -r "$source/jobs" "$home/"
    cp "$source/perf/study" "$home/perf/"
    chmod -R a+rX "$home"
    chmod 1777 "$users"
    cd "$users"
    "$TRIREME" prepare --synthetic csn --count 20 --quiet --output corpus.h5
}

# Open MPI's own TCP transport (4.1.4) occasionally crashes in MPI_Init between nodes if srun starts the ranks.
# UCX does not; without a fast network, Open MPI uses it only if configured to.
choose_network() {
    export OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any UCX_TLS=tcp,self
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1  # read only by Open MPI's mpirun
}

address_of() { # n3: 10.7.0.3
    echo "10.7.0.${1#n}"
}

lay_network() {
    hostname login
    ip link set lo up
    ip link add bridge type bridge
    ip address add 10.7.0.100/24 dev bridge
    ip link set bridge up
    {
        echo "127.0.0.1 localhost"
        echo "10.7.0.100 login"
    } > "$cluster/hosts"
    local node
    for node in "${nodes[@]}"; do
        echo "$(address_of "$node") $node" >> "$cluster/hosts"
        ip netns add "$node"
        ip link add "to-$node" type veth peer name eth0 netns "$node"
        ip link set "to-$node" master bridge up
        ip -n "$node" link set lo up
        ip -n "$node" address add "$(address_of "$node")/24" dev eth0
        ip -n "$node" link set eth0 up
    done
    mount --bind "$cluster/hosts" /etc/hosts
}

# One daemon serves all nodes, because its socket is a file that they share.
start_munge() {
    local folder=$cluster/munge
    mkdir -p "$folder" /run/munge
    head --bytes 1024 /dev/urandom > "$folder/key"
    chmod 400 "$folder/key"
    chown -R munge: "$folder" /run/munge
    setpriv --reuid munge --regid munge --clear-groups munged --key-file "$folder/key" \
        --log-file "$folder/log" --pid-file "$folder/pid" --seed-file "$folder/seed"
}

# A requeued job is retried soon, and the partition `urgent` preempts `main`.
write_slurm_conf() {
    cat > "$cluster/slurm.conf" <<CONF
ClusterName=trireme
SlurmctldHost=login(10.7.0.100)
AuthType=auth/munge
AuthInfo=cred_expire=6
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$cluster/state
SlurmdSpoolDir=/run/node/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd-%n.pid
TmpFS=/run/node
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,preempt_strict_order
ReturnToService=2
SlurmdTimeout=30
InactiveLimit=0
KillWait=5
MinJobAge=600
UnkillableStepTimeout=30
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=DEFAULT CPUs=4 RealMemory=4000 State=UNKNOWN
NodeName=n1 NodeAddr=$(address_of n1)
NodeName=n2 NodeAddr=$(address_of n2)
NodeName=n3 NodeAddr=$(address_of n3)
NodeName=n4 NodeAddr=$(address_of n4)
PartitionName=main Nodes=ALL Default=YES State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL State=UP PriorityTier=10 PreemptMode=OFF
CONF
    echo "CgroupPlugin=cgroup/v1" > "$cluster/cgroup.conf"  # unused, but without it slurmd searches for a plugin
}

# Cuts the network and kills the node's processes at once, as a power failure does.
lose_node() { # n3
    ip link set "to-$1" down
    kill -KILL "$(cat "$cluster/node-$1.pid")"
}

repair_node() { # n3
    ip link set "to-$1" up
    start_node "$1"
}

start_node() { # n3
    # shellcheck disable=SC2016  # expanded by the inner shell
    nsenter --net="/run/netns/$1" unshare "${own_namespaces[@]}" bash -c '
        hostname "$1"
        mount -t tmpfs -o mode=1777 tmpfs /run/node
        mkdir /run/node/spool
        mount -t tmpfs -o mode=1777 tmpfs /dev/shm
        slurmd -D -N "$1" -L "$2" 2>/dev/null
        exit' node "$1" "$cluster/log/$1" &
    echo "$!" > "$cluster/node-$1.pid"
}

nodes_are_idle() {
    [ "$(sinfo --noheader --partition main --states idle --format %D)" = "${#nodes[@]}" ]
}

# --- waiting ----------------------------------------------------------------------------------------------------
# Polls four times a second, and fails after the given seconds.
wait_for() { # what, seconds, command...
    local what=$1 seconds=$2 until=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$until" ] || fail "no $what within $seconds s"
        sleep 0.25
    done
    say "$SECONDS s: $what"
}

# --- jobs -------------------------------------------------------------------------------------------------------
field_of() { # job, field name as in scontrol's output
    local values
    values=$(scontrol --oneliner show job "$1" | grep -oP "(?<= $2=)\S+")
    echo "${values%%$'\n'*}"
}

is_in_state() { # job, state
    [ "$(field_of "$1" JobState)" = "$2" ]
}

has_ended() { # job
    [[ "$(field_of "$1" JobState)" =~ ^(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|BOOT_FAIL)$ ]]
}

expect_state() { # job, state, exit code and signal as Slurm writes them
    wait_for "end of job $1" 200 has_ended "$1"
    [ "$(field_of "$1" JobState) $(field_of "$1" ExitCode)" = "$2 $3" ] ||
        fail "job $1 is $(field_of "$1" JobState) $(field_of "$1" ExitCode) and not $2 $3; its output: $(cat ./*-"$1".out)"
}

# True if the job was requeued and has started again.
is_running_again() { # job
    [ "$(field_of "$1" Restarts)" -ge 1 ] && is_in_state "$1" RUNNING
}

# --- runs -------------------------------------------------------------------------------------------------------
# shellcheck disable=SC2034  # read by the tests
# Options of a run with eight ranks and half a second per step.
readonly small_run=(--corpus corpus.h5 --batch 8 --layers 4 --width 16 --heads 2 --device reference --threads 1
    --log-every 1)

# Prints an option that makes one step long enough for any event to occur within it.
long_step() { # step
    echo "--slow=rank=0,factor=100,steps=$1:$1"
}

steps_of() { # run directory
    if [ -e "$1/steps.jsonl" ]; then
        grep -c '"loss"' "$1/steps.jsonl"
    else
        echo 0
    fi
}

has_steps() { # run directory, at least
    [ "$(steps_of "$1")" -ge "$2" ]
}

# Prints "step loss" for each step.
losses_of() { # run directory
    sed -nE 's/^\{"step":([0-9]+),"loss":([^,]+),.*/\1 \2/p' "$1/steps.jsonl"
}

# Runs the reference run that others are compared with.
run_undisturbed() { # run directory, options...
    local folder=$1
    shift
    srun --mpi=pmix --nodes 4 --ntasks-per-node 2 "$TRIREME" train "$@" --run-dir "$folder"
}

expect_same_losses() { # run directory, reference directory, number of steps
    [ "$(losses_of "$1" | wc -l)" -eq "$3" ] || fail "$1 does not have $3 steps: $(losses_of "$1")"
    diff <(losses_of "$1") <(losses_of "$2") >&2 || fail "the losses of $1 and $2 differ"
    grep -q '"verdict": *"VALID"' "$1/summary.json" || fail "$1 is not VALID: $(cat "$1/summary.json")"
}

# Compares losses with the tolerance for another number of ranks in f64: 1e-10 of the loss.
expect_close_losses() { # run directory, reference directory, number of steps
    local matching
    matching=$(paste -d " " <(losses_of "$1") <(losses_of "$2") |
        awk '$1 == $3 && ($2 - $4)^2 <= (1e-10 * $4)^2 { ++matching } END { print matching + 0 }')
    [ "$matching" -eq "$3" ] || fail "the losses of $1 and $2 differ: $(losses_of "$1") and $(losses_of "$2")"
}
