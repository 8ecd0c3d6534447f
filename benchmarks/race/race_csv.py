"""Races as rows of a CSV file: what its columns are, and how rows are made, written and read."""

import csv

from contestants import chosen_name
from figures import middle, ratio

FABRIC = {
    "race": str,
    "topology": str,
    "nodes": int,
    "rate": str,  # of the links
    "ranks_per_node": int,
    "default_routes": str,  # those that native MPI could take
}
TIMES = {
    "repetitions": int,
    "median_seconds": float,
    "min_seconds": float,
    "max_seconds": float,
    "best_native": str,  # of the same run
    "best_native_seconds": float,
    "over_best_native": float,
}
COUNTS = {
    "idle": float,
    "dropped_packets": int,
    "served_calls": int,
    "calls": int,
}
COLLECTIVE = {
    **FABRIC,
    "calls_in_a_row": int,
    "size_bytes": int,
    "contestant": str,
    "route_set": str,
    "plan_steps": int,
    "route_classes": int,
    "native_variants": int,  # that ran, at least once, in screening
    "bound_seconds": float,
    "predicted_seconds": float,
    "blaster_seconds": float,
    **TIMES,
    "of_bound": float,
    "of_ceiling": float,
    **COUNTS,
    "retransmitted_segments": int,
    "bandwidth_bound": bool,
    "is_result": bool,
    "why_not": str,
    "started": str,
}
FFT = {
    **FABRIC,
    "grid": int,
    "size_bytes": int,
    "contestant": str,
    **TIMES,
    "fft_seconds": float,
    "pack_seconds": float,
    "alltoall_seconds": float,
    "unpack_seconds": float,
    "first_pair_seconds": float,
    **COUNTS,
    "started": str,
}
HPCC = {
    **FABRIC,
    "matrix_order": int,
    "contestant": str,
    **TIMES,
    "mpifft_points": int,
    "mpifft_gflops": float,
    "mpifft_min_gflops": float,
    "mpifft_max_gflops": float,
    "ptrans_bytes_per_second": float,
    "ptrans_min_bytes_per_second": float,
    "ptrans_max_bytes_per_second": float,
    "dropped_packets": int,
    "served_calls": int,
    "calls": int,
    "started": str,
}
KEY = ("race", "topology", "rate", "ranks_per_node", "default_routes")
KEY += ("calls_in_a_row", "size_bytes", "grid", "matrix_order", "contestant")  # those that the race has


class WrongFile(Exception):
    """A file that is no CSV of a race; the text is for the user."""


def columns_of(race):
    return {"fft": FFT, "hpcc": HPCC}.get(race, COLLECTIVE)


# ---- from what a race measured ----------------------------------------------------------------------------------


def fabric_of(result):
    values = {name: result[name] for name in FABRIC if name != "default_routes"}
    return {**values, "default_routes": " ".join(result["default_routes"])}


def times_of(entry, best_native, best_native_seconds):
    seconds = entry["seconds"]
    return {
        "repetitions": len(seconds["values"]),
        **{f"{name}_seconds": seconds[name] for name in ("median", "min", "max")},
        "best_native": best_native,
        "best_native_seconds": best_native_seconds,
        "over_best_native": ratio(best_native_seconds, seconds["median"]),
    }


def best_native_of(results):
    native = [(entry["seconds"]["median"], name) for name, entry in results.items() if name.startswith("native ")]
    seconds, name = min(native, default=(None, None))
    return name, seconds


def served_of(entry):
    """From "22 of 22"."""
    served, _, calls = (entry["served"] or "").partition(" of ")
    return {"served_calls": int(served) if served else None, "calls": int(calls) if calls else None}


def collective_rows(result, started):
    for row in result["rows"]:
        for name, routes in row["route_sets"].items():
            raced = any(entry["route_set"] == name for entry in row["results"].values())
            if not raced and routes["blaster_seconds"]:  # nobody raced over them: still the ceiling of the machine
                yield blaster_row(result, row, name, started)
        for name, entry in row["results"].items():
            yield collective_row(result, row, name, entry, started)


def shared_by_size(result, row, route_set, started):
    routes = row["route_sets"].get(route_set, {})
    plan = result["plans"].get(route_set, {})
    return {
        **fabric_of(result),
        "calls_in_a_row": result["in_a_row"],
        "size_bytes": row["size"],
        "route_set": route_set,
        "plan_steps": plan.get("steps"),
        "route_classes": plan.get("classes"),
        "native_variants": row["native_variants"],
        "bound_seconds": row["bound_seconds"],
        "predicted_seconds": routes.get("predicted_seconds"),
        "blaster_seconds": middle(routes.get("blaster_seconds")),
        "started": started,
    }


def blaster_row(result, row, route_set, started):
    routes = row["route_sets"][route_set]
    times = times_of({"seconds": routes["blaster_seconds"]}, row["best_native"], row["best_native_seconds"])
    return {**shared_by_size(result, row, route_set, started), **times, "contestant": f"blaster {route_set}", "idle": routes["idle"]}


def collective_row(result, row, name, entry, started):
    shared = shared_by_size(result, row, entry["route_set"], started)
    median = entry["seconds"]["median"]
    return {
        **shared,
        "contestant": name,
        "plan_steps": None if name == chosen_name else shared["plan_steps"],
        "route_classes": None if name == chosen_name else shared["route_classes"],
        **times_of(entry, row["best_native"], row["best_native_seconds"]),
        "of_bound": ratio(row["bound_seconds"], median),
        "of_ceiling": ratio(shared["blaster_seconds"], median),
        "idle": entry["idle"],
        "dropped_packets": entry["drops"],
        "served_calls": entry["served"],
        "calls": entry["calls"],
        "retransmitted_segments": entry["retransmits"],
        "bandwidth_bound": entry.get("bandwidth_bound"),
        "is_result": entry.get("is_result"),
        "why_not": "; ".join(entry.get("why_not", [])),
    }


def fft_rows(result, started):
    for grid in result["grids"]:
        best = best_native_of(grid["results"])
        for name, entry in grid["results"].items():
            yield {
                **fabric_of(result),
                "grid": grid["grid"],
                "size_bytes": grid["bytes_per_pair"],
                "contestant": name,
                **times_of(entry, *best),
                "fft_seconds": entry["bands"]["FFT"],
                "pack_seconds": entry["bands"]["pack"],
                "alltoall_seconds": entry["bands"]["all-to-all"],
                "unpack_seconds": entry["bands"]["unpack"],
                "first_pair_seconds": middle(entry["first_pair"]),
                "idle": entry["idle"],
                "dropped_packets": entry["drops"],
                **served_of(entry),
                "started": started,
            }


def hpcc_rows(result, started):
    best = best_native_of(result["results"])
    for name, entry in result["results"].items():
        gflops, moved = entry["fft_gflops"], entry["transposition_bytes_per_second"]
        yield {
            **fabric_of(result),
            "matrix_order": result["order"],
            "contestant": name,
            **times_of(entry, *best),
            "mpifft_points": entry["fft_length"],
            "mpifft_gflops": gflops["median"],
            "mpifft_min_gflops": gflops["min"],
            "mpifft_max_gflops": gflops["max"],
            "ptrans_bytes_per_second": moved["median"],
            "ptrans_min_bytes_per_second": moved["min"],
            "ptrans_max_bytes_per_second": moved["max"],
            "dropped_packets": entry["drops"],
            **served_of(entry),
            "started": started,
        }


def rows_of(result, started):
    make = {"fft": fft_rows, "hpcc": hpcc_rows}.get(result["race"], collective_rows)
    return list(make(result, started))


def fabric_name(row):
    return row["topology"] + (f", {row['ranks_per_node']} ranks per node" if row["ranks_per_node"] > 1 else "")


# ---- files ------------------------------------------------------------------------------------------------------


def text_of(value):
    if value is None:
        return ""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def value_of(text, kind):
    if kind is str:
        return text
    if text == "":
        return None
    return text == "yes" if kind is bool else kind(text)


def key_of(row):
    return tuple(row.get(name) for name in KEY)


def fabric_key(row):
    return tuple(row[name] for name in FABRIC)


def merged(old, new):
    """New rows take the place of old ones of the same key; those of one topology stand together, by size."""
    rows = {key_of(row): row for row in old}
    rows.update((key_of(row), row) for row in new)
    topologies, fabrics = {}, {}
    for row in rows.values():
        topologies.setdefault(row["topology"], len(topologies))
        fabrics.setdefault(fabric_key(row), len(fabrics))
    sizes = ("calls_in_a_row", "size_bytes", "matrix_order")

    def place(row):
        return topologies[row["topology"]], fabrics[fabric_key(row)], *(row.get(name) or 0 for name in sizes)

    return sorted(rows.values(), key=place)


def write(path, rows):
    columns = columns_of(rows[0]["race"])
    partial = path.with_name(path.name + ".part")
    with open(partial, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: text_of(row.get(name)) for name in columns} for row in rows)
    partial.replace(path)


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    if not lines:
        raise WrongFile(f"{path} has no rows")
    columns = columns_of(lines[0].get("race"))
    if set(lines[0]) != set(columns):
        raise WrongFile(f"{path} is no CSV of a race, or of another version")
    return [{name: value_of(line[name], kind) for name, kind in columns.items()} for line in lines]
