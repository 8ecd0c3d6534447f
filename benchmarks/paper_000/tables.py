#!/usr/bin/env python3
"""Tables 6 and 7 of paper 000: how long BFB takes to plan, and the Pareto-efficient topologies of degree 4."""

import argparse
import json
import subprocess
import sys

# Table 6, seconds of the paper where its text still states them: allgather by BFB.
TABLE_6 = [("hypercube:5", 0.03), ("hypercube:6", 0.17), ("hypercube:10", 52.7),
           ("torus:5x5", 0.01), ("torus:6x6", 0.03), ("torus:50x50", 61.1)]
TABLE_7_NODES = [32, 64, 128, 256, 512, 1024]  # of degree 4
SIZE, ALPHA, LINK_GBPS = 1 << 20, 10e-6, 25  # 1 MiB, 10 us, 100 Gbps per node (section 8)


def run(libcoll, *arguments):
    command = [libcoll, *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def table_6(libcoll, complete):
    rows = []
    print(f"Table 6: planning an allgather, seconds\n{'topology':>14}{'paper':>10}{'loads':>10}{'schedule':>10}")
    for topology, paper in TABLE_6:
        arguments = ["plan", topology, "allgather", "--algorithm", "bfb"]
        loads = run(libcoll, *arguments, "--no-schedule")["plan_seconds"]
        small = run(libcoll, "topo", topology)["nodes"] <= 1024
        schedule = run(libcoll, *arguments)["plan_seconds"] if complete or small else None
        rows.append({"topology": topology, "paper": paper, "loads": loads, "schedule": schedule})
        print(f"{topology:>14}{paper:10.2f}{loads:10.4f}" + (f"{schedule:10.3f}" if schedule is not None else f"{'-':>10}"))
    return rows


def table_7(libcoll):
    rows = []
    for nodes in TABLE_7_NODES:
        found = run(libcoll, "topo", "find", "--nodes", str(nodes), "--degree", "4", "--size", str(SIZE), "--alpha",
                    str(ALPHA), "--bandwidth", str(LINK_GBPS))
        rows.append(found)
        print(f"\nTable 7: {nodes} nodes of degree 4\n{'topology':>44}{'T_L':>6}{'T_B':>10}{'allreduce':>14}{'all-to-all >=':>16}")
        members = found["frontier"] + [dict(found["bound"], topology="(theoretical bound)")]
        for member in members:
            print(f"{member['topology']:>44}{member['steps']:6d}{member['bandwidth_time_float']:10.4f}"
                  f"{member['allreduce_seconds'] * 1e6:11.1f} us{member['alltoall_seconds_bound'] * 1e6:13.1f} us")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libcoll", default="libcoll")
    parser.add_argument("--complete", action="store_true", help="write out the schedules of more than 1024 nodes, too")
    parser.add_argument("--json", dest="output", help="write everything to this file")
    arguments = parser.parse_args()
    results = {"table_6": table_6(arguments.libcoll, arguments.complete), "table_7": table_7(arguments.libcoll)}
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
