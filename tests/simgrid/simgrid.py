#!/usr/bin/env python3
"""Checks `libcoll simulate` against SimGrid's flow model, on the topologies of cases.toml.

simgrid.py --libcoll COMMAND --replay SIMGRID_REPLAY [--all | TOPOLOGY...]: without either the quick ones. Each schedule
is simulated at three sizes of blocks, cut as `simulate` does when it is not told, and replayed by SimGrid in the same
segments. The two times have to be within 5 % of each other (cases.toml says where not): where latency decides both add the same latencies, and
where bandwidth does both are bound by the same links; what is left is the order in which segments take turns on a link
(simulate) or share it (SimGrid). Prints a row for each. Exit code 0: all agree; 1: some do not; 2: wrong usage.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 120  # for one command
APART = 0.05
BLOCK_BYTES = (16, 16 << 10, 1 << 20)
PLANS = (("alltoall", "auto"), ("alltoall", "mcf-link"), ("allgather", "auto"), ("allreduce", "auto"))
KEYS = {"specification": str, "links": list, "over_links": bool, "quick": bool, "apart": float, "options": list}


def load():
    cases = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))["topology"]
    for case in cases:
        for key, value in case.items():
            if not isinstance(value, KEYS.get(key, type(None))):
                raise SystemExit(f"cases.toml: found {key} = {value!r}, expected one of {', '.join(KEYS)}")
    return cases


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def topology_of(case, directory):
    """The specification, or a file of the links."""
    if "links" not in case:
        return case["specification"]
    nodes = sorted({node for link in case["links"] for node in link[:2]})
    text = f'name = "{case["specification"]}"\n' + "".join(f'[[node]]\nname = "n{node}"\n' for node in nodes)
    for start, end, bandwidth in case["links"]:
        text += f'[[link]]\nfrom = "n{start}"\nto = "n{end}"\noneway = true\nbandwidth = "{bandwidth}"\n'
    path = directory / "topology.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def agrees(what, schedule, hosts, apart_at_most, arguments):
    """Prints a row for each size; whether all agree."""
    sizes = [hosts * block for block in BLOCK_BYTES]
    listed = ",".join(map(str, sizes))
    simulated = json.loads(output_of(arguments.libcoll, "simulate", schedule, "--size", listed, "--json"))["results"]
    good = len(simulated) == len(sizes)
    for size, ours in zip(sizes, simulated):
        segment = ours["segment_bytes"]
        theirs = json.loads(output_of(arguments.replay, schedule, str(size), str(segment)))
        apart = ours["seconds"] / theirs["seconds"] - 1
        same = abs(apart) <= apart_at_most and theirs["messages"] == ours["messages"]
        good = good and same
        print(f"{'agrees ' if same else 'DIFFERS'} {what}, {size} B in {theirs['messages']} segments: simulate "
              f"{1e6 * ours['seconds']:.2f} us, SimGrid {1e6 * theirs['seconds']:.2f} us, {100 * apart:+.2f} %; "
              f"busiest link {1e6 * ours['busiest_link_seconds']:.2f} us", flush=True)  # fmt: skip
    return good


def judge(case, arguments):
    good = True
    with tempfile.TemporaryDirectory() as name:
        topology = topology_of(case, Path(name))
        schedule = str(Path(name) / "schedule.xml")
        for collective, algorithm in PLANS:
            if algorithm == "mcf-link" and not case.get("over_links", True):
                continue
            figures = json.loads(output_of(arguments.libcoll, "plan", topology, collective, "--algorithm", algorithm,
                                           *case.get("options", []), "--json", "--output", schedule))  # fmt: skip
            what = f"{case['specification']}: {collective} by {figures['algorithm']}"
            good = agrees(what, schedule, figures["nodes"], case.get("apart", APART), arguments) and good
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libcoll", required=True)
    parser.add_argument("--replay", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("topologies", nargs="*", metavar="TOPOLOGY")
    arguments = parser.parse_args()
    cases = load()
    names = [case["specification"] for case in cases]
    for name in arguments.topologies:
        if name not in names:
            parser.error(f"found {name}, expected one of {', '.join(names)}")
    wanted = arguments.topologies or [
        case["specification"] for case in cases if arguments.all or case.get("quick", False)
    ]
    good = bool(wanted)
    for case in cases:
        if case["specification"] not in wanted:
            continue
        try:
            good = judge(case, arguments) and good
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"FAILED {case['specification']}: {error}")
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
