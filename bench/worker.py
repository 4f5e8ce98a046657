"""A process that times workloads: a job as JSON in its arguments, a line of JSON for each result on stdout.

Numbers of threads are set for the process before it starts, since most libraries read them once.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import asdict

import tadc
from bench.measure import measure
from bench.roofline import measure as measure_roofline
from bench.workloads import WORKLOADS


def main() -> None:
    """Do the job."""
    job = json.loads(sys.argv[1])
    # Libraries write to stdout when they compile; results have a channel of their own.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    threads: int = job["threads"]
    if hasattr(tadc, "set_num_threads"):
        tadc.set_num_threads(threads)
    workloads = {workload.name: workload for workload in WORKLOADS}
    for dtype in job["rooflines"]:
        print(json.dumps({"roofline": asdict(measure_roofline(dtype, threads))}), file=channel, flush=True)
    for name, dtype in job["cells"]:
        workload = workloads[name]
        cell = measure(workload, workload.sizes, dtype, threads, job["budget"], job["quick"])
        print(json.dumps({"cell": asdict(cell)}), file=channel, flush=True)


if __name__ == "__main__":
    main()
