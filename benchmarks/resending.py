#!/usr/bin/env python3
"""What it costs, while nothing is lost, that lost messages could be sent again: collective_sweep with and without
LIBCOLL_RESEND_SECONDS, in turn.

A run depends on where the processes came to lie, so each is compared with the one beside it: the table has the medians
of both, and of their ratio the median and the range."""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from sweep import mpirun, only_row, sweep_program, with_libcoll  # noqa: E402

# Collective, bytes as collective_sweep counts them, calls of a run.
CALLS = [("allreduce", 8, 3000), ("allreduce", 4 << 20, 12), ("alltoall", 8, 3000), ("alltoall", 1 << 20, 12)]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--topology", default="ring:4", help="one rank per node (ring:4)")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--tls", default="tcp,self", help="UCX's transports; tcp is what ranks of several hosts have")
    parser.add_argument("--runs", type=int, default=5, help="of each kind, with and without (5)")
    parser.add_argument("--plans", action="store_true", help="small calls, too, go by plans, not directly")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of calls in a run (1)")
    return parser.parse_args()


def microseconds(options, call, settings, cache):
    """Of one call, as one run of the sweep has it."""
    collective, size, count = call
    count = max(1, round(count * options.scale))
    settings = {"LIBCOLL_COST_MODEL": "no", "UCX_TLS": options.tls, "UCX_LOG_LEVEL": "error"} | settings
    launch = mpirun(options.ranks, [*sweep_program(options.build, collective, size, count), "-f"])
    row = only_row(with_libcoll(options.build, options.topology, launch), settings, cache, f"resending.py: {collective}")
    if row[-2] != row[-1]:
        sys.exit(f"resending.py: {collective}: libcoll served {row[-2]} of {row[-1]} calls")
    return float(row[1])


def main():
    options = parse_arguments()
    both = {"LIBCOLL_PLANLESS_MAX": "0"} if options.plans else {}
    without = {"LIBCOLL_RESEND_SECONDS": "0"} | both
    ways = [without, {"LIBCOLL_RESEND_SECONDS": "2"} | both]
    times = {call: ([], []) for call in CALLS}
    with tempfile.TemporaryDirectory() as cache:
        for collective in {call[0] for call in CALLS}:
            microseconds(options, (collective, 8, 1), without, cache)  # makes the plan
        for run in range(options.runs):
            for call in CALLS:
                # Who goes first changes from turn to turn.
                for way in (0, 1) if run % 2 == 0 else (1, 0):
                    times[call][way].append(microseconds(options, call, ways[way], cache))
    print(f"# {options.topology} over {options.tls}, {options.runs} runs of each; us per call")
    print(f"{'collective':<11}{'bytes':>9}{'without':>11}{'with':>11}{'ratio':>8}{'least':>8}{'most':>8}")
    for (collective, size, _), (plain, resending) in times.items():
        ratios = [b / a for a, b in zip(plain, resending)]
        print(
            f"{collective:<11}{size:>9}{statistics.median(plain):>11.1f}{statistics.median(resending):>11.1f}"
            f"{statistics.median(ratios):>8.3f}{min(ratios):>8.3f}{max(ratios):>8.3f}"
        )


if __name__ == "__main__":
    main()
