"""What the plots share: matplotlib where it is installed, and small PNG files."""

import io
import sys


def load_pyplot():
    """None, with a word, where it is missing."""
    try:
        import matplotlib
    except ImportError:
        print("plot.py: there is no matplotlib; install python3-matplotlib.", file=sys.stderr)
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure, path):
    figure.tight_layout()
    if not path.endswith(".png"):
        figure.savefig(path)
        return
    from PIL import Image  # matplotlib needs it, too

    whole = io.BytesIO()
    figure.savefig(whole, format="png", dpi=90)
    Image.open(whole).convert("RGB").quantize(128).save(path, optimize=True)  # a third of the size
