#!/usr/bin/env python3
"""How much of nonblocking collectives hides behind computation, MPI alone beside libcoll with and without its progress
thread: every way in turn, medians over the runs and their range. In percent, by OSU's measure (see overlap.c). Says
where libcoll left calls to MPI."""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from sweep import mpirun, only_row, with_libcoll  # noqa: E402

WAYS = {
    "native": None,  # without the preloaded library
    "libcoll": {},
    "thread": {"LIBCOLL_PROGRESS_THREAD": "yes"},
}
COLLECTIVES = ["allreduce", "reduce", "bcast", "reduce_scatter_block", "allgather", "alltoall"]
FABRIC = "overlap"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--collective", default="allreduce", choices=COLLECTIVES)
    parser.add_argument("--ways", default=",".join(WAYS), help="some of %(default)s")
    parser.add_argument("--persistent", action="store_true", help="persistent calls instead of nonblocking ones")
    parser.add_argument("--forced", action="store_true", help="have libcoll serve all calls")
    parser.add_argument("--bytes", default="65536,1048576", help="as overlap.c counts them (65536,1048576)")
    parser.add_argument("--topology", default="ring:2", help="ring:2")
    parser.add_argument("--ranks", type=int, default=2, help="one on each node (2)")
    parser.add_argument("--one-node", action="store_true", help="all ranks on one node of a ring that has more nodes")
    parser.add_argument("--rate", help="on an emulated fabric with cables of this rate, such as 1gbit; else on this host")
    parser.add_argument("--processors", help="bind all ranks to these, as taskset has them")
    parser.add_argument("--runs", type=int, default=9, help="of every way (9)")
    parser.add_argument("--calls", type=int, default=100, help="of every measurement (100)")
    options = parser.parse_args()
    options.ways = options.ways.split(",")
    if not set(options.ways) <= WAYS.keys():
        parser.error(f"--ways: expected some of {', '.join(WAYS)}")
    if options.one_node:
        options.topology = f"ring:{options.ranks + 1}"
    return options


def command_of(options, way, size):
    libcoll = str(options.build / "bin" / "libcoll")
    form = ["persistent"] if options.persistent else []
    program = [str(options.build / "bin" / "overlap"), *form, options.collective, size, str(options.calls)]
    if options.processors:
        program = ["taskset", "-c", options.processors, *program]
    launch = mpirun(options.ranks, program)
    if options.rate:
        launch = ["mpirun", "-n", str(options.ranks), *program]
        if WAYS[way] is not None:
            launch = [libcoll, "run", "--", *launch]
        return [libcoll, "fabric", "--name", FABRIC, "run", "--", *launch]
    return launch if WAYS[way] is None else with_libcoll(options.build, options.topology, launch)


def fabric(options, *words):
    command = [str(options.build / "bin" / "libcoll"), "fabric", "--name", FABRIC, *words]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(f"overlap.py: {' '.join(command)} failed")


def measure(options):
    """Per size and way: a list of (call + wait, with computation, percent hidden, calls served)."""
    found = {(size, way): [] for size in options.bytes.split(",") for way in options.ways}
    for_all = {"LIBCOLL_COST_MODEL": "no", "LIBCOLL_ONE_NODE": "yes"} if options.forced else {}
    if options.one_node:
        for_all["LIBCOLL_HOST"] = "node0"
    with tempfile.TemporaryDirectory() as cache:
        for run in range(options.runs + 1):  # the first makes plans
            for size, way in found:
                settings = {} if WAYS[way] is None else WAYS[way] | for_all
                row = only_row(command_of(options, way, size), settings, cache, f"overlap.py: {way}")
                if run > 0:
                    found[size, way].append((float(row[1]), float(row[3]), float(row[4]), int(row[5])))
    return found


def main():
    options = parse_arguments()
    if options.rate:
        fabric(options, "up", options.topology, "--rate", options.rate)
    try:
        found = measure(options)
    finally:
        if options.rate:
            fabric(options, "down")
    where = f"emulated, {options.rate}" if options.rate else "one host"
    form = "persistent " if options.persistent else "nonblocking "
    print(f"# {form}{options.collective}, {options.ranks} ranks, {options.topology} ({where}), {options.runs} runs")
    print(f"{'bytes':>9} {'way':<8}{'call us':>10}{'both us':>10}{'hidden %':>10}  range")
    for (size, way), rows in found.items():
        call, both, hidden, served = (statistics.median(column) for column in zip(*rows, strict=True))
        least, most = min(row[2] for row in rows), max(row[2] for row in rows)
        remark = "  left to MPI" if WAYS[way] is not None and served <= 0 else ""
        print(f"{size:>9} {way:<8}{call:>10.1f}{both:>10.1f}{hidden:>10.1f}  {least:.0f} to {most:.0f}{remark}")


if __name__ == "__main__":
    main()
