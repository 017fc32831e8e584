#!/usr/bin/env python3
"""Downloads the units of a directory with Ray: ray_units.py UNITS OUT TASKS [OPTION...]

UNITS and OUT are directories that all nodes share; the options are passed to `batch units`. Ray uses the cluster of
RAY_ADDRESS, or this machine if the variable isn't set.
"""
import os
import subprocess
import sys

import ray

batch = os.environ.get("BATCH", "batch")


# Ray calls the function again after a TimeoutError, and after the loss of a worker.
@ray.remote(max_retries=4, retry_exceptions=[TimeoutError])
def download(task, tasks, units, out, options):
    """Downloads the units of one task."""
    command = [batch, "units", units, "--directory", out, "--task", str(task), "--of", str(tasks), "--no-progress"]
    status = subprocess.run(command + options).returncode
    if status == 75:
        raise TimeoutError("some downloads failed for a reason that may pass")
    if status != 0:
        raise RuntimeError(f"task {task} ended with status {status}")


if __name__ == "__main__":
    (units, out), tasks, options = map(os.path.abspath, sys.argv[1:3]), int(sys.argv[3]), sys.argv[4:]
    ray.init()
    ray.get([download.remote(task, tasks, units, out, options) for task in range(tasks)])
