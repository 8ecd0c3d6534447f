#!/usr/bin/env python3
"""Heat maps of figures 5, 8 and 9 of paper 002 (Harvest): speed-up over message size and reconfiguration delay."""

import argparse
import csv
import pathlib
import subprocess
import sys

# Panel: figure, title, arguments of `libcoll harvest`.
PANELS = [
    ("5", "recursive doubling (one phase), 1-D",
     ["reduce_scatter", "--algorithm", "recursive-doubling", "--degree", "1"]),
    ("5", "swing, 1-D", ["allreduce", "--algorithm", "swing", "--degree", "2"]),
    ("5", "all-to-all, 1-D", ["alltoall", "--algorithm", "direct", "--degree", "1"]),
    ("8", "multi-port swing, 8x8", ["allreduce", "--algorithm", "swing-multiport", "--dimensions", "8,8", "--degree", "4"]),
    ("8", "multi-port swing, 4x4x4",
     ["allreduce", "--algorithm", "swing-multiport", "--dimensions", "4,4,4", "--degree", "6"]),
    ("9", "bruck all-to-all, radix 4", ["alltoall", "--algorithm", "bruck", "--ports", "3", "--degree", "4"]),
    ("9", "bruck allgather, radix 4", ["allgather", "--algorithm", "bruck", "--ports", "3", "--degree", "4"]),
    ("9", "binomial tree broadcast", ["broadcast", "--algorithm", "binomial-tree", "--degree", "4"]),
    ("9", "binary tree broadcast", ["broadcast", "--algorithm", "binary-tree", "--ports", "2", "--degree", "4"]),
]
# §6.2 on figure 5: speed-up over the static ring for 1 to 256 KB and α_r below 1 µs, and for 1 GB at 10 µs; over
# rewiring for every step for 4 MB and 10 to 100 µs.
STATED = {"recursive doubling (one phase), 1-D": (6.4, 3.0, 3.0), "swing, 1-D": (4.7, 3.1, None),
          "all-to-all, 1-D": (20, 30, 4.8)}
BASELINES = {"static": "speedup_over_static", "every step": "speedup_over_every_step", "best of both": "speedup_over_best",
             "static ring": "speedup_over_ring"}


def heatmap(libcoll, nodes, arguments, path):
    command = [libcoll, "harvest", *arguments, "--nodes", str(nodes), "--bandwidth", "800Gbps", "--alpha", "500ns",
               "--delta", "500ns", "--heatmap", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    with open(path, newline="", encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def size_text(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"


def delay_text(seconds):
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * scale * 0.999:
            return f"{seconds / scale:g} {unit}"
    return f"{seconds:g} s"


def plot(rows, title, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sizes = sorted({row["size_bytes"] for row in rows})
    delays = sorted({row["reconfiguration_seconds"] for row in rows})
    values = {(row["size_bytes"], row["reconfiguration_seconds"]): row for row in rows}
    figure, axes = pyplot.subplots(1, len(BASELINES), figsize=(15, 4), layout="constrained")
    for axis, (name, column) in zip(axes, BASELINES.items()):
        grid = [[values[size, delay][column] for size in sizes] for delay in delays]
        image = axis.imshow(grid, origin="lower", aspect="auto", norm=matplotlib.colors.LogNorm(vmin=1))
        axis.set_xticks(range(len(sizes)), [size_text(size) for size in sizes], rotation=60)
        axis.set_yticks(range(len(delays)), [delay_text(delay) for delay in delays])
        axis.set_xlabel("message size")
        axis.set_ylabel("reconfiguration delay")
        axis.set_title(f"over {name}")
        figure.colorbar(image, ax=axis)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def beside_the_text(rows, stated):
    """The largest speed-ups in the regions that the text speaks of."""
    regions = [("over the ring, 1 to 256 KiB, below 1 us", "speedup_over_ring",
                lambda size, delay: size <= 256 << 10 and delay < 9e-7),
               ("over the ring, 1 GiB, 10 us", "speedup_over_ring",
                lambda size, delay: size == 1 << 30 and abs(delay - 1e-5) < 1e-8),
               ("over every step, 4 MiB, 10 to 100 us", "speedup_over_every_step",
                lambda size, delay: size == 4 << 20 and 9e-6 < delay < 1.1e-4)]
    for (what, column, belongs), paper in zip(regions, stated):
        region = [row[column] for row in rows if belongs(row["size_bytes"], row["reconfiguration_seconds"])]
        if region and paper is not None:
            print(f"  {what}: {max(region):.2f}, paper {paper}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libcoll", default="libcoll")
    parser.add_argument("--nodes", type=int, default=64, help="a power of two; figure 8 needs 64")
    parser.add_argument("--figure", choices=["5", "8", "9"], help="only this one")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="directory for the CSV files")
    parser.add_argument("--plot", action="store_true")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for number, (figure, title, command) in enumerate(PANELS):
        if arguments.figure not in (None, figure):
            continue
        path = arguments.output / f"figure_{figure}_{number}.csv"
        rows = heatmap(arguments.libcoll, arguments.nodes, command, path)
        print(f"figure {figure}, {title}: {path}")
        for name, column in BASELINES.items():
            best = max(rows, key=lambda row: row[column])
            print(f"  up to {best[column]:.2f} times faster than {name} "
                  f"({size_text(best['size_bytes'])}, {delay_text(best['reconfiguration_seconds'])})")
        if title in STATED:
            beside_the_text(rows, STATED[title])
        if arguments.plot:
            plot(rows, f"Figure {figure}: {title}, {arguments.nodes} nodes", path.with_suffix(".png"))


if __name__ == "__main__":
    main()
