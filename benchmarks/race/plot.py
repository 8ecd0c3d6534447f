#!/usr/bin/env python3
"""Plots of what race.py wrote: `plot.py FILE.json OUTPUT.png` (or .pdf, .svg). Needs python3-matplotlib.

Collectives: throughput over size, a panel per topology, with the bound and the blaster. FFT: stacked phases."""

import json
import sys

PHASES = ("FFT", "pack", "all-to-all", "unpack")


def throughput(result, row, seconds):
    """Payload per node and second, in Mbyte/s: what one node sends to all others (alltoall), or the vector."""
    nodes = result["nodes"]
    payload = row["size"] * (nodes - 1 if result["race"] == "alltoall" else nodes)
    return payload / seconds / 1e6


def line(axes, result, points, label, **style):
    points = [(size, throughput(result, row, seconds)) for size, row, seconds in points if seconds]
    if points:
        axes.plot(*zip(*points), label=label, **style)


def plot_collective(axes, result):
    rows = result["rows"]
    line(axes, result, [(r["size"], r, r["bound_seconds"]) for r in rows], "bound", color="black", linestyle=":")
    for name in {name: None for r in rows for name in r["route_sets"] if not name.startswith("default ")}:
        blasted = [(r["size"], r, (r["route_sets"][name]["blaster_seconds"] or {}).get("median")) for r in rows]
        line(axes, result, blasted, f"blaster on {name}", color="lightgrey", linewidth=3)
    native = [(r["size"], r, r["best_native_seconds"]) for r in rows]
    line(axes, result, native, "best native", color="tab:gray", marker="s")
    for name in result["ours"]:
        ours = [(r, r["results"][name]["seconds"]) for r in rows if name in r["results"]]
        line(axes, result, [(r["size"], r, seconds["median"]) for r, seconds in ours], name, marker="o")
        if ours:
            low = [throughput(result, r, seconds["max"]) for r, seconds in ours]
            high = [throughput(result, r, seconds["min"]) for r, seconds in ours]
            axes.fill_between([r["size"] for r, _ in ours], low, high, alpha=0.2)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes per pair" if result["race"] == "alltoall" else "bytes per shard")
    axes.set_ylabel("MB/s per node")
    axes.set_title(f"{result['race']}, {result['topology']}, {result['rate']}", fontsize="small")
    axes.legend(fontsize="x-small")


def plot_fft(axes, result):
    bars = [
        (f"{entry['grid']}³\n{name}", one["bands"])
        for entry in result["grids"]
        for name, one in sorted(entry["results"].items(), key=lambda item: item[1]["seconds"]["median"])
    ]
    below = [0.0] * len(bars)
    for phase in PHASES:
        heights = [bands[phase] * 1e3 for _, bands in bars]
        axes.bar(range(len(bars)), heights, bottom=below, label=phase)
        below = [a + b for a, b in zip(below, heights)]
    axes.set_xticks(range(len(bars)), [name for name, _ in bars], rotation=30, ha="right", fontsize="x-small")
    axes.set_ylabel("ms per pair of transforms")
    axes.set_title(f"3D FFT, {result['topology']}, {result['rate']}", fontsize="small")
    axes.legend(fontsize="x-small")


def main(arguments):
    if len(arguments) != 2:
        print("usage: plot.py FILE.json OUTPUT.png", file=sys.stderr)
        return 2
    try:
        import matplotlib
    except ImportError:
        print("plot.py: there is no matplotlib; install python3-matplotlib.", file=sys.stderr)
        return 1
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with open(arguments[0], encoding="utf-8") as file:
        results = json.load(file)["results"]
    if not results:
        print(f"plot.py: {arguments[0]} has no results.", file=sys.stderr)
        return 1
    wide = min(3, len(results))
    high = -(-len(results) // wide)
    figure, panels = pyplot.subplots(high, wide, figsize=(6 * wide, 4.5 * high), squeeze=False)
    for axes in panels.flat[len(results) :]:
        axes.remove()
    for axes, result in zip(panels.flat, results):
        (plot_fft if result["race"] == "fft" else plot_collective)(axes, result)
    figure.tight_layout()
    figure.savefig(arguments[1], dpi=120)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
