#!/usr/bin/env python3
"""What the preload costs a process: an exec, memory before the first collective, the first allreduce, and a communicator that
is duplicated or split off, used once and freed. Native, preloaded without a topology, and with one, in turn; medians of the runs."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = ["native", "no topology", "topology"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--library", type=Path, help="another library to preload")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--ranks-per-node", type=int, default=1, help="so many ranks in a row count as one node (1)")
    parser.add_argument("--runs", type=int, default=7, help="of every way (7)")
    parser.add_argument("--execs", type=int, default=1000, help="of /bin/true, of every way (1000)")
    return parser.parse_args()


def environment_of(way, library, ring, cache):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LIBCOLL_", "LD_PRELOAD"))}
    if way != "native":
        environment["LD_PRELOAD"] = str(library)
    if way == "topology":
        environment |= {"LIBCOLL_TOPOLOGY": f"ring:{ring}", "LIBCOLL_CACHE_DIR": cache}
    return environment


def milliseconds_of_exec(environment):
    begin = time.perf_counter()
    os.waitpid(os.posix_spawn("/bin/true", ["true"], environment), 0)
    return (time.perf_counter() - begin) * 1e3


def process_costs(build, environment, ranks, ranks_per_node):
    """[kB after MPI_Init, kB after the first allreduce, ms of that, µs of dup + allreduce + free, µs of split + allreduce + free]"""
    settings = [word for name in environment if name.startswith(("LIBCOLL_", "LD_PRELOAD"))
                for word in ("-x", f"{name}={environment[name]}")]  # fmt: skip
    launcher = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    on_node = 'exec "$0"'
    if "LIBCOLL_TOPOLOGY" in environment:
        on_node = f"LIBCOLL_HOST=node$((OMPI_COMM_WORLD_RANK / {ranks_per_node})) {on_node}"
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), *settings, "sh", "-c", on_node, str(build / "bin" / "process_costs")]
    ran = subprocess.run(command, env=launcher, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return [float(word) for word in ran.stdout.split()]


def main():
    arguments = parse_arguments()
    library = arguments.library or arguments.build / "lib" / "libcoll_pmpi.so"
    execs = {way: [] for way in WAYS}
    costs = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as cache:
        nodes = arguments.ranks // arguments.ranks_per_node
        # As many ranks as nodes would be one each.
        ring = nodes if nodes > 1 else arguments.ranks + 1
        environments = {way: environment_of(way, library, ring, cache) for way in WAYS}
        for _ in range(arguments.execs):
            for way in WAYS:
                execs[way].append(milliseconds_of_exec(environments[way]))
        for _ in range(arguments.runs):
            for way in WAYS:
                costs[way].append(process_costs(arguments.build, environments[way], arguments.ranks, arguments.ranks_per_node))
    print(f"{'':12} {'exec ms':>8} {'MPI_Init MB':>12} {'allreduce MB':>13} {'ms':>6} {'dup+allreduce+free us':>22} {'split+allreduce+free us':>24}")
    for way in WAYS:
        after_init, after_call, first_call, duplicate, split = (statistics.median(column) for column in zip(*costs[way]))
        print(f"{way:12} {statistics.median(execs[way]):8.3f} {after_init / 1024:12.1f} {after_call / 1024:13.1f} "
              f"{first_call:6.1f} {duplicate:22.1f} {split:24.1f}")  # fmt: skip


if __name__ == "__main__":
    main()
