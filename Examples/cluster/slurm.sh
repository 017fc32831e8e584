#!/usr/bin/env bash
# Downloads the units of a directory with an array of Slurm jobs. Submit it with any number of tasks, always from 0 on:
#
#     UNITS=/shared/units OUT=/shared/out sbatch --array=0-7 slurm.sh
#
# Arguments after the name of the script are passed to `batch units`, such as --pack tar. To continue after a failure, submit
# it again, with the same number of tasks or another one: units that have reports are skipped.
#
#SBATCH --job-name=download
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@60
set -u

: "${UNITS:?is the directory that batch split has written}"
: "${OUT:?is the directory for files and reports}"
: "${SLURM_ARRAY_TASK_ID:?is set by sbatch --array}"
batch=${BATCH:-batch}
most_restarts=${MOST_RESTARTS:-20}
job=${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}

# Puts the task back into the queue, unless it was canceled: scancel sends TERM, too, but its job isn't running anymore.
requeue() {
    [ "$(squeue --noheader --format=%T --jobs="$job")" = RUNNING ] || return
    if [ "${SLURM_RESTART_COUNT:-0}" -ge "$most_restarts" ]; then
        echo "task $job was requeued $most_restarts times; submit the array again to continue" >&2
        return
    fi
    # Slurm ends the processes of a job that it requeues.
    trap '' TERM
    scontrol requeue "$job"
}

# The shell handles a signal only while it waits, so the command runs in the background.
"$batch" units "$UNITS" --directory "$OUT" --task auto --of "$SLURM_ARRAY_TASK_COUNT" --no-progress "$@" &
child=$!
signals=0
trap 'signals=$((signals + 1)); kill -TERM "$child" 2>/dev/null' TERM

# A signal ends the wait, but the command first saves what it has received.
while
    seen=$signals
    wait "$child"
    status=$?
    [ "$signals" != "$seen" ]
do :; done

# The status 75 means that downloads failed for a reason that may pass.
if [ "$status" = 75 ] || { [ "$signals" -gt 0 ] && [ "$status" -ge 128 ]; }; then requeue; fi
exit "$status"
