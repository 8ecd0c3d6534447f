#!/usr/bin/env python3
"""Figures 9 and 10 of paper 001 (MultiTree) in the cost model, our ratios beside the paper's."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

KIB = 1024
SIZES = [32 * KIB << shift for shift in range(12)]  # 32 KiB to 64 MiB, paper §V-B
FIGURE_9 = ["torus:4x4", "torus:8x8", "mesh:4x4", "mesh:8x8", "dgx2:1", "fat_tree:8,2", "bigraph:4x8", "bigraph:4x16"]
FIGURE_10 = [(4, 4), (4, 8), (8, 8), (8, 16), (16, 16)]  # 16 to 256 nodes
# The paper's names, in its order; each with ours.
NAMES = {"RING": "ring", "DBTREE": "double-binary-tree", "2D-RING": "2d-ring", "HDRM": "hdrm", "MULTITREE": "multitree"}
HEAD_FLIT_SHARE = 256 / (256 + 16)  # payload of a packet, paper §II-C and Table III
FABRIC = '[defaults]\nbandwidth = "16GB/s"\nlatency = "150ns"\n'  # Table III


def compare(libcoll, specification, sizes, with_head_flits):
    """Modelled seconds by paper name, one per size."""
    bandwidth = round(16e9 * (HEAD_FLIT_SHARE if with_head_flits else 1))
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "fabric.toml"
        path.write_text(f'generator = "{specification}"\n' + FABRIC.replace("16GB/s", str(bandwidth) + "B/s"))
        command = [libcoll, "plan", "--compare", str(path), "--collective", "allreduce", "--json",
                   "--size", ",".join(str(size) for size in sizes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    rows = {row["algorithm"]: row for row in json.loads(done.stdout)["algorithms"]}
    return {name: rows[ours]["modelled_seconds"] for name, ours in NAMES.items() if ours in rows}


def all_times(libcoll, specification, sizes):
    times = compare(libcoll, specification, sizes, with_head_flits=True)
    times["MULTITREEMSG"] = compare(libcoll, specification, sizes, with_head_flits=False)["MULTITREE"]
    return times


def size_text(size):
    return f"{size // KIB // KIB} MiB" if size >= KIB * KIB else f"{size // KIB} KiB"


def figure_9(libcoll):
    result = {}
    for specification in FIGURE_9:
        times = all_times(libcoll, specification, SIZES)
        result[specification] = {name: [size / t / 1e9 for size, t in zip(SIZES, row)] for name, row in times.items()}
        print(f"\nFigure 9, {specification}: allreduce bandwidth in GB/s")
        names = list(result[specification])
        print(f"{'size':>10}" + "".join(f"{name:>14}" for name in names))
        for i, size in enumerate(SIZES):
            print(f"{size_text(size):>10}" + "".join(f"{result[specification][name][i]:14.2f}" for name in names))
    return result


def figure_10(libcoll):
    result = {}
    print("\nFigure 10: time of 375 N KiB on an N-node torus over RING's with 16 nodes")
    base = None
    for rows, columns in FIGURE_10:
        nodes = rows * columns
        times = {name: row[0] for name, row in all_times(libcoll, f"torus:{rows}x{columns}", [375 * nodes * KIB]).items()}
        base = base or times["RING"]
        result[nodes] = {name: seconds / base for name, seconds in times.items()}
        print(f"{nodes:6d} nodes" + "".join(f"  {name} {value:.3f}" for name, value in result[nodes].items()))
    return result


def ratio(values, slow, fast):
    """How many times `fast` is ahead; values are times."""
    return values[slow] / values[fast]


def headlines(nine, ten):
    def speedup(specification, fast, slow):
        bandwidths = nine[specification]
        return bandwidths[fast][-1] / bandwidths[slow][-1]

    scale = [ten[nodes] for nodes in sorted(ten)]

    def span(slow):
        ratios = [ratio(values, slow, "MULTITREEMSG") for values in scale]
        return f"{min(ratios):.2f} to {max(ratios):.2f}"

    def at(nodes, slow, fast):
        return f"{ratio(ten[nodes], slow, fast):.2f}"

    rows = [
        ("figure 10, 4x4, MULTITREE over RING", "3", at(16, "RING", "MULTITREE")),
        ("figure 10, 4x4, MULTITREEMSG over RING", "3", at(16, "RING", "MULTITREEMSG")),
        ("figure 10, 4x4, MULTITREEMSG over 2D-RING", "1.4", at(16, "2D-RING", "MULTITREEMSG")),
        ("figure 10, 8x8, MULTITREEMSG over 2D-RING", "1.4", at(64, "2D-RING", "MULTITREEMSG")),
        ("figure 10, 8x8, 2D-RING over RING", "2.14 (3/1.4)", at(64, "RING", "2D-RING")),
        ("torus:8x8, 2D-RING over RING (64 MiB)", "1.46 (DNNs)", f"{speedup('torus:8x8', '2D-RING', 'RING'):.2f}"),
        ("torus:8x8, MULTITREE over RING (64 MiB)", "2.2 (DNNs)", f"{speedup('torus:8x8', 'MULTITREE', 'RING'):.2f}"),
        ("torus:8x8, MULTITREEMSG over RING", "2.3 (DNNs)", f"{speedup('torus:8x8', 'MULTITREEMSG', 'RING'):.2f}"),
        ("torus:8x8, MULTITREE over 2D-RING", "1.51 (DNNs)", f"{speedup('torus:8x8', 'MULTITREE', '2D-RING'):.2f}"),
        ("torus:8x8, MULTITREEMSG over 2D-RING", "1.56 (DNNs)", f"{speedup('torus:8x8', 'MULTITREEMSG', '2D-RING'):.2f}"),
        ("figure 10, MULTITREEMSG over RING, 16 to 256 nodes", "3", span("RING")),
        ("figure 10, MULTITREEMSG over 2D-RING", "1.4", span("2D-RING")),
        ("MULTITREEMSG over MULTITREE, large data", "1.06", f"{speedup('torus:8x8', 'MULTITREEMSG', 'MULTITREE'):.3f}"),
        ("dgx2:1, MULTITREE over RING, large data", "same", f"{speedup('dgx2:1', 'MULTITREE', 'RING'):.3f}"),
        ("fat_tree:8,2, MULTITREE over RING, large data", "same", f"{speedup('fat_tree:8,2', 'MULTITREE', 'RING'):.3f}"),
        ("bigraph:4x8, MULTITREE over RING, large data", "same", f"{speedup('bigraph:4x8', 'MULTITREE', 'RING'):.3f}"),
        ("bigraph:4x16, MULTITREE over RING, large data", "same", f"{speedup('bigraph:4x16', 'MULTITREE', 'RING'):.3f}"),
        ("bigraph:4x16, HDRM over RING, large data", "same", f"{speedup('bigraph:4x16', 'HDRM', 'RING'):.3f}"),
        ("mesh:4x4, 2D-RING over RING", "above 1", f"{speedup('mesh:4x4', '2D-RING', 'RING'):.2f}"),
        ("mesh:8x8, 2D-RING over RING", "below 1", f"{speedup('mesh:8x8', '2D-RING', 'RING'):.2f}"),
    ]
    print(f"\n{'speed-up':52}{'paper':>14}{'here':>16}")
    for what, paper, here in rows:
        print(f"{what:52}{paper:>14}{here:>16}")
    return [dict(zip(("what", "paper", "here"), row)) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libcoll", default="libcoll", help="the command, for example build/bin/libcoll")
    parser.add_argument("--json", type=pathlib.Path, help="also write all figures to this file")
    options = parser.parse_args()
    nine = figure_9(options.libcoll)
    ten = figure_10(options.libcoll)
    rows = headlines(nine, ten)
    if options.json:
        figures = {"sizes": SIZES, "figure_9": nine, "figure_10": ten, "headlines": rows}
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
