#!/usr/bin/env python3
"""Plots of what `libcoll report NAME --json` wrote: `plot.py FILE.json OUTPUT.png` (or .pdf, .svg).

Curves and heat maps, for the reports that are figures in the papers. Needs python3-matplotlib."""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1]))

from pictures import load_pyplot, save  # noqa: E402

# Of reports with curves: the columns that make panels, the abscissa and the curves of a panel.
CURVES = {
    "bfb-fig3": (None, "nodes", "base"),
    "bfb-fig18": (None, "nodes", "degree"),
    "multitree-fig9": ("fabric", "size_bytes", "algorithm"),
    "multitree-fig10": (None, "nodes", "algorithm"),
    "fig7": (None, "nodes", "algorithm"),
    "fig8": (None, "nodes", "algorithm"),
    "fig9": (None, "links_disabled", "algorithm"),
    "fig10": (None, "nodes", "topology"),
}
LINEAR = {"bfb-fig18", "fig8", "fig9", "fig10"}
LINEAR_ORDINATE = {"multitree-fig9", "bfb-fig3"}
BASELINES = {"speedup_over_static": "over static", "speedup_over_every_step": "over rewiring every step",
             "speedup_over_best": "over the better of both"}


def size_text(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"


def delay_text(seconds):
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999 * scale:
            return f"{seconds / scale:g} {unit}"
    return f"{seconds:g} s"


def distinct(rows, column):
    return list({row[column]: None for row in rows})


def plot_curves(axes, report, rows):
    _, abscissa, curve = CURVES[report["report"]]
    for name in distinct(rows, curve):
        points = sorted((row[abscissa], row[report["figure"]]) for row in rows if row[curve] == name)
        axes.plot(*zip(*points), marker=".", label=str(name))
    if report["report"] not in LINEAR:
        axes.set_xscale("log", base=2)
    if report["report"] not in LINEAR | LINEAR_ORDINATE:
        axes.set_yscale("log")
    axes.set_xlabel(abscissa)
    axes.set_ylabel(report["figure"])
    axes.legend(fontsize="x-small", title=curve, title_fontsize="x-small")


def plot_heat_map(figure, axes, rows, baseline):
    import matplotlib

    sizes = sorted(distinct(rows, "size_bytes"))
    delays = sorted(distinct(rows, "reconfiguration_seconds"))
    values = {(row["size_bytes"], row["reconfiguration_seconds"]): row[baseline] for row in rows}
    grid = [[values[size, delay] for size in sizes] for delay in delays]
    most = max(2, *(value for line in grid for value in line))
    image = axes.imshow(grid, origin="lower", aspect="auto", norm=matplotlib.colors.LogNorm(vmin=1, vmax=most))
    axes.set_xticks(range(len(sizes)), [size_text(size) for size in sizes], rotation=60, fontsize="x-small")
    axes.set_yticks(range(len(delays)), [delay_text(delay) for delay in delays], fontsize="x-small")
    figure.colorbar(image, ax=axes)


def draw(pyplot, report, output):
    rows = [row for row in report["rows"] if row[report["figure"]] is not None]
    if "panel" in rows[0]:
        panels = distinct(rows, "panel")
        figure, grid = pyplot.subplots(len(panels), len(BASELINES), figsize=(15, 3.6 * len(panels)), squeeze=False)
        for line, panel in zip(grid, panels):
            of_panel = [row for row in rows if row["panel"] == panel]
            for axes, (baseline, text) in zip(line, BASELINES.items()):
                plot_heat_map(figure, axes, of_panel, baseline)
                axes.set_title(f"{panel}, {of_panel[0]['nodes']} nodes, {text}", fontsize="small")
    else:
        panel, abscissa, _ = CURVES[report["report"]]
        rows = [row for row in rows if isinstance(row[abscissa], (int, float))]
        panels = distinct(rows, panel) if panel else [None]
        wide = min(2, len(panels))
        high = -(-len(panels) // wide)
        figure, grid = pyplot.subplots(high, wide, figsize=(7 * wide, 4.5 * high), squeeze=False)
        for axes in grid.flat[len(panels):]:
            axes.remove()
        for axes, name in zip(grid.flat, panels):
            plot_curves(axes, report, [row for row in rows if panel is None or row[panel] == name])
            axes.set_title(name or report["what"], fontsize="small")
    save(figure, output)


def main(arguments):
    if len(arguments) != 2:
        print("usage: plot.py FILE.json OUTPUT.png", file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        report = json.load(file)
    heat_map = "panel" in report["rows"][0]
    if report["report"] not in CURVES and not heat_map:
        print(f"plot.py: report {report['report']} is no figure.", file=sys.stderr)
        return 1
    pyplot = load_pyplot()
    if pyplot is None:
        return 1

    draw(pyplot, report, arguments[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
