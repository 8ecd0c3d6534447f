#!/usr/bin/env python3
"""What small calls cost on this host, MPI alone beside libcoll: collective_sweep run over and over, every way in turn.

A run is short and depends on where the processes came to lie, so that one says little. The table has the median over
the runs, their range, and the median of what each run took more than the run of MPI alone beside it."""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from sweep import mpirun, only_row, sweep_program, with_libcoll  # noqa: E402

# How calls go, and the settings that make them.
WAYS = {
    "native": None,  # without the preloaded library
    "off": {"LIBCOLL_ENABLE": "no"},
    "one-node": {"LIBCOLL_HOST": "node0", "LIBCOLL_ONE_NODE": "no"},  # a communicator that falls through
    "model": {"LIBCOLL_COST_MODEL": "yes"},
    "direct": {"LIBCOLL_COST_MODEL": "no"},  # from rank to rank
    "plan": {"LIBCOLL_COST_MODEL": "no", "LIBCOLL_PLANLESS_MAX": "0"},
}

# Ranks that are to count as those of one node.
ON_NODES = 'export LIBCOLL_HOST=node$((OMPI_COMM_WORLD_RANK / RANKS_PER_NODE)); exec "$0" "$@"'


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--collective", default="allreduce", choices=["allreduce", "allgather", "alltoall"])
    parser.add_argument("--bytes", type=int, default=8, help="as collective_sweep counts them (8)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--ranks-per-node", type=int, default=1, help="by LIBCOLL_HOST, whatever host it is (1)")
    parser.add_argument("--runs", type=int, default=9, help="of every way (9)")
    parser.add_argument("--calls", type=int, default=20000, help="of every run (20000)")
    parser.add_argument("--ways", default="native,off,one-node,model", help="of " + ", ".join(WAYS))
    options = parser.parse_args()
    options.ways = options.ways.split(",")
    if unknown := [way for way in options.ways if way not in WAYS]:
        parser.error(f"there is no way {unknown[0]}")
    if options.ranks < 2 or options.ranks % options.ranks_per_node != 0:
        parser.error("there must be two ranks at least, and as many on every node")
    return options


def command_of(options, way):
    program = sweep_program(options.build, options.collective, options.bytes, options.calls)
    if options.ranks_per_node > 1 and way != "one-node":
        program = ["sh", "-c", ON_NODES.replace("RANKS_PER_NODE", str(options.ranks_per_node)), *program]
    launch = mpirun(options.ranks, program)
    if WAYS[way] is None:
        return launch
    # As many ranks as hosts would be one rank per node.
    nodes = options.ranks // options.ranks_per_node
    return with_libcoll(options.build, f"ring:{nodes if nodes > 1 else options.ranks + 1}", launch)


def microseconds(options, way, cache):
    """Of one call, as one run of the sweep has it."""
    return float(only_row(command_of(options, way), WAYS[way] or {}, cache, f"small_calls.py: {way}")[1])


def main():
    options = parse_arguments()
    times = {way: [] for way in options.ways}
    with tempfile.TemporaryDirectory() as cache:
        # The first run of each makes plans and measures what later ones find in the cache.
        for run in range(options.runs + 1):
            for way in options.ways:
                time = microseconds(options, way, cache)
                if run > 0:
                    times[way].append(time)
    nodes = options.ranks // options.ranks_per_node
    print(f"# {options.collective} of {options.bytes} B, {options.ranks} ranks on {nodes} nodes, {options.runs} runs; us")
    print(f"{'way':<10}{'median':>9}{'least':>9}{'most':>9}{'more':>9}")
    for way, taken in times.items():
        row = f"{way:<10}{statistics.median(taken):>9.2f}{min(taken):>9.2f}{max(taken):>9.2f}"
        if "native" in times:
            row += f"{statistics.median(a - b for a, b in zip(taken, times['native'])):>9.2f}"
        print(row)


if __name__ == "__main__":
    main()
