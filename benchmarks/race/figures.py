"""Medians, ratios and columns of text."""

import statistics
import sys
import time


def log(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def summary(values):
    """Median and spread; None where there is nothing."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "values": values}


def middle(entry):
    return entry["median"] if entry else None


def ratio(a, b):
    return a / b if a is not None and b else None


def show(value, form="{:.2f}", scale=1.0):
    return "-" if value is None else form.format(value * scale)


def size_text(size):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def print_columns(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) if i == len(row) - 1 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print("  " + "  ".join(cells).rstrip())


def milliseconds(entry):
    """Median ±half the spread."""
    if not entry:
        return "-"
    spread = (entry["max"] - entry["min"]) / 2 * 1e3
    return f"{entry['median'] * 1e3:.2f} ±{spread:.2f}"
