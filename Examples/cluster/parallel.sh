#!/usr/bin/env bash
# Downloads the units of a directory with several processes on this machine, which GNU parallel starts:
#
#     parallel.sh UNITS OUT TASKS [OPTION...]
#
# The options are passed to `batch units`. To continue after a failure, run it again, with any number of tasks.
set -eu

[ "$#" -ge 3 ] || { echo "usage: $0 UNITS OUT TASKS [OPTION...]" >&2; exit 64; }
units=$1 out=$2 tasks=$3
shift 3

# The command ends with the status 75 at most four times, since it makes at most five attempts. After any other failure, parallel
# starts it again, too; the failure is repeated. If parallel is interrupted, it sends TERM to the commands and waits for them.
mkdir -p "$out"
seq 0 $((tasks - 1)) | parallel --quote --jobs "$tasks" --retries 5 --joblog "$out/parallel.log" --termseq TERM,30000,KILL \
    "${BATCH:-batch}" units "$units" --directory "$out" --task {} --of "$tasks" --no-progress "$@"
