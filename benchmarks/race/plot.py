#!/usr/bin/env python3
"""A race as a picture: `plot.py FILE.csv OUTPUT.png` (or .pdf, .svg). Needs python3-matplotlib.

Collectives: a panel per topology with the speed over size against the best native (where none raced: the bound), beside the
bound and the blaster; topologies that were raced at one size only share a panel. FFT: stacked phases. hpcc: its FFT and its
transposition."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1]))

import race_csv  # noqa: E402
from contestants import unpaced_suffix  # noqa: E402
from figures import size_text  # noqa: E402
from pictures import load_pyplot, save  # noqa: E402

PHASES = {"FFT": "fft_seconds", "pack": "pack_seconds", "all-to-all": "alltoall_seconds", "unpack": "unpack_seconds"}
OURS = "libcoll "
COLORS = {
    "bfb": "tab:blue",
    "chosen": "tab:red",
    "dor": "tab:olive",
    "ewsp": "tab:purple",
    "ilp-disjoint": "tab:brown",
    "mcf-link": "tab:blue",
    "mcf-path": "tab:orange",
    "ring": "tab:green",
    "sssp": "tab:green",
}
PANELS_WIDE = 4
PANEL_INCHES = (3.6, 2.8)
BARS_WIDE = 9  # topologies that fit a panel


def by_fabric(rows):
    """{title: rows}; collectives against other native routes are other races."""
    result = {}
    for row in rows:
        title = f"{race_csv.fabric_name(row)}, {row['rate']}"
        if row["best_native"] and "route_set" in row:
            title += f"\nnative on {row['default_routes'].replace(' ', ' or ')}"
        result.setdefault(title, []).append(row)
    return result


def is_ours(row):
    return row["contestant"].startswith(OURS)


def style_of(contestant):
    name = contestant.removeprefix(OURS)
    plan = name.removesuffix(unpaced_suffix)
    return {"color": COLORS.get(plan), "linestyle": "-" if plan == name else "--"}  # color None: the next one


# ---- collectives ------------------------------------------------------------------------------------------------


def speed(row, column):
    """Against the best native of the same run; where none raced, against the bound."""
    return (row["best_native_seconds"] or row["bound_seconds"]) / row[column]


def speed_label(rows):
    return "× best native" if any(row["best_native_seconds"] for row in rows) else "of the bound"


def line(axes, rows, column, label, **style):
    points = sorted((row["size_bytes"], speed(row, column)) for row in rows if row[column])
    if points:
        axes.plot(*zip(*points), label=label, **style)
    return [height for _, height in points]


def plot_sizes(axes, name, rows):
    ours = sorted({row["contestant"] for row in rows if is_ours(row)})
    route_sets = dict.fromkeys(row["route_set"] for row in rows if is_ours(row) or row["contestant"].startswith("blaster"))
    label = "blaster, by routes"
    for route_set in route_sets:
        over = {row["size_bytes"]: row for row in rows if row["route_set"] == route_set}  # one of a size: all tell the same
        line(axes, over.values(), "blaster_seconds", label, color="lightgrey", linewidth=3)
        label = None
    by_size = {row["size_bytes"]: row for row in sorted(rows, key=lambda row: row["started"])}
    bounds = line(axes, by_size.values(), "bound_seconds", "bound", color="black", linestyle=":")
    heights = line(axes, by_size.values(), "best_native_seconds", "best native", color="tab:gray", marker="s", markersize=4)
    for contestant in ours:
        of_it = [row for row in rows if row["contestant"] == contestant]
        heights += line(axes, of_it, "median_seconds", contestant, marker="o", markersize=4, **style_of(contestant))
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(by_size), [size_text(size) for size in sorted(by_size)], fontsize="x-small")
    axes.minorticks_off()
    axes.set_ylim(0, 1.15 * max([*heights, bounds[-1]]))
    axes.set_ylabel(speed_label(rows), fontsize="small")
    axes.tick_params(axis="y", labelsize="x-small")
    axes.set_title(name, fontsize="small")
    axes.legend(fontsize="xx-small")


def plot_one_size(axes, fabrics):
    """Fabrics that were raced at one size."""
    rows = [row for of_fabric in fabrics.values() for row in of_fabric]
    series = {"bound": [speed(of_fabric[0], "bound_seconds") for of_fabric in fabrics.values()]}
    axes.plot(series["bound"], "_", color="black", markersize=12, label="bound")
    ours = sorted({row["contestant"] for row in rows if is_ours(row)})
    width = 0.8 / len(ours)
    for i, contestant in enumerate(ours):
        raced = [(j, row) for j, of_fabric in enumerate(fabrics.values()) for row in of_fabric if row["contestant"] == contestant]
        places = [j + (i + 0.5) * width - 0.4 for j, _ in raced]
        axes.bar(places, [speed(row, "median_seconds") for _, row in raced], width, label=contestant, color=style_of(contestant)["color"])
    axes.axhline(1, color="tab:gray", linewidth=1)
    sizes = {size_text(row["size_bytes"]) for row in rows}
    names = [race_csv.fabric_name(of_fabric[0]) for of_fabric in fabrics.values()]
    if len(sizes) > 1:
        names = [f"{name}, {size_text(of_fabric[0]['size_bytes'])}" for name, of_fabric in zip(names, fabrics.values())]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize="x-small")
    axes.set_ylabel(speed_label(rows), fontsize="small")
    axes.tick_params(axis="y", labelsize="x-small")
    axes.set_title("one size" if len(sizes) > 1 else f"one size, {sizes.pop()}", fontsize="small")
    axes.legend(fontsize="xx-small", loc="lower left")


def collective_panels(rows):
    fabrics = by_fabric(rows)
    several = {name for name, of_fabric in fabrics.items() if len({row["size_bytes"] for row in of_fabric}) > 1}
    panels = [(1, lambda axes, name=name: plot_sizes(axes, name, fabrics[name])) for name in fabrics if name in several]
    single = {name: of_fabric for name, of_fabric in fabrics.items() if name not in several and any(map(is_ours, of_fabric))}
    if single:
        wide = min(PANELS_WIDE, -(-len(single) // BARS_WIDE) + 1)
        panels.append((wide, lambda axes: plot_one_size(axes, single)))
    return panels


# ---- programs ---------------------------------------------------------------------------------------------------


def plot_fft(axes, name, rows):
    rows = sorted(rows, key=lambda row: row["median_seconds"])
    below = [0.0] * len(rows)
    for phase, column in PHASES.items():
        heights = [row[column] * 1e3 for row in rows]
        axes.bar(range(len(rows)), heights, bottom=below, label=phase)
        below = [a + b for a, b in zip(below, heights)]
    axes.set_xticks(range(len(rows)), [row["contestant"].replace(" ", "\n", 1) for row in rows], fontsize="xx-small")
    axes.set_ylim(top=1.2 * max(below))
    axes.set_ylabel("ms per pair of transforms", fontsize="small")
    axes.tick_params(axis="y", labelsize="x-small")
    axes.set_title(name, fontsize="small")
    axes.legend(fontsize="xx-small", loc="upper left", ncol=4, columnspacing=1)


def fft_panels(rows):
    boxes = {}
    for name, of_fabric in by_fabric(rows).items():
        for row in of_fabric:
            boxes.setdefault(f"{row['grid']}³, {name}", []).append(row)
    return [(1, lambda axes, name=name: plot_fft(axes, name, boxes[name])) for name in boxes]


def plot_hpcc(axes, fabrics, column, scale, label):
    bars = [(name, row) for name, rows in fabrics.items() for row in rows]
    colors = ["tab:blue" if is_ours(row) else "tab:gray" for _, row in bars]
    axes.barh(range(len(bars)), [row[column] * scale for _, row in bars], color=colors)
    axes.set_yticks(range(len(bars)), [f"{name}\n{row['contestant']}" for name, row in bars], fontsize="xx-small")
    axes.tick_params(axis="x", labelsize="x-small")
    axes.set_xlabel(label, fontsize="small")


def hpcc_panels(rows):
    shown = [("mpifft_gflops", 1, "MPIFFT, Gflop/s"), ("ptrans_bytes_per_second", 1e-6, "PTRANS, MB/s"), ("median_seconds", 1, "all of hpcc, s")]
    fabrics = by_fabric(rows)
    return [(1, lambda axes, what=what: plot_hpcc(axes, fabrics, *what)) for what in shown]


# ---- the picture ------------------------------------------------------------------------------------------------


def places(panels, wide):
    """Row, column and width of each; one that is wider than the rest of its row begins the next."""
    row, column = 0, 0
    for width, _ in panels:
        if column + width > wide:
            row, column = row + 1, 0
        yield row, column, width
        column += width


def draw(pyplot, panels, path):
    total = sum(width for width, _ in panels)
    wide = max(-(-total // -(-total // PANELS_WIDE)), *(width for width, _ in panels), 1)
    where = list(places(panels, wide))
    high = where[-1][0] + 1
    figure = pyplot.figure(figsize=(PANEL_INCHES[0] * wide, PANEL_INCHES[1] * high))
    grid = figure.add_gridspec(high, wide)
    for (row, column, width), (_, plot) in zip(where, panels):
        plot(figure.add_subplot(grid[row, column : column + width]))
    save(figure, path)


def main(arguments):
    if len(arguments) != 2:
        print("usage: plot.py FILE.csv OUTPUT.png", file=sys.stderr)
        return 2
    pyplot = load_pyplot()
    if pyplot is None:
        return 1
    try:
        rows = race_csv.read(Path(arguments[0]))
    except (OSError, race_csv.WrongFile) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 1
    panels = {"fft": fft_panels, "hpcc": hpcc_panels}.get(rows[0]["race"], collective_panels)(rows)
    if not panels:
        print(f"plot.py: {arguments[0]} has no row of ours.", file=sys.stderr)
        return 1
    draw(pyplot, panels, arguments[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
