#!/usr/bin/env python3
"""Downloads the units of a directory with Dask: dask_units.py UNITS OUT TASKS [OPTION...]

UNITS and OUT are directories that all workers share; the options are passed to `batch units`. Dask uses the scheduler of
DASK_SCHEDULER_ADDRESS, or this machine if the variable isn't set.
"""
import os
import subprocess
import sys

from dask.distributed import Client

batch = os.environ.get("BATCH", "batch")


def download(task, tasks, units, out, options):
    """Downloads the units of one task. After an error, Dask calls the function again."""
    command = [batch, "units", units, "--directory", out, "--task", str(task), "--of", str(tasks), "--no-progress"]
    status = subprocess.run(command + options).returncode
    if status == 75:
        raise TimeoutError("some downloads failed for a reason that may pass")
    if status != 0:
        # Dask calls the function again after this error, too; the failure is repeated.
        raise RuntimeError(f"task {task} ended with status {status}")


if __name__ == "__main__":
    (units, out), tasks, options = map(os.path.abspath, sys.argv[1:3]), int(sys.argv[3]), sys.argv[4:]
    with Client() as client:
        # Without pure=False, Dask would not run a function again whose arguments it has seen.
        futures = client.map(
            download, range(tasks), tasks=tasks, units=units, out=out, options=options, retries=4, pure=False)
        client.gather(futures)
