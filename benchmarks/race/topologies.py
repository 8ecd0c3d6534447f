"""Topologies of the races by name: what `libcoll topo` accepts, and punctured tori written as files."""

import random
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ALLTOALL = [
    "complete_bipartite:4,4",
    "hypercube:3",
    "twisted_hypercube:3",
    "torus:3x3x3",
    "random_regular:16,4,1",
    "genkautz:16,4",
    "edge_punctured:1-10",
    "node_punctured:1-10",
]
ALLGATHER = ["ring:8", "hypercube:3", "torus:3x3", "torus:3x3x2", "torus:3x3x3"]
FFT = ["torus:3x3x3", "edge_punctured:1"]
HPCC = ["torus:2x2x2"]

PUNCTURED = (3, 3, 3)
REMOVED = 3


@dataclass(frozen=True)
class Named:
    name: str
    specification: str  # or the path of a topology file


def torus_cables(lengths):
    """Cables of a torus, as pairs of node numbers; row by row, the last dimension fastest, as libcoll numbers them."""
    nodes = list(product(*[range(length) for length in lengths]))
    number = {node: i for i, node in enumerate(nodes)}
    cables = set()
    for node in nodes:
        for dimension, length in enumerate(lengths):
            neighbour = list(node)
            neighbour[dimension] = (node[dimension] + 1) % length
            if tuple(neighbour) != node:
                cables.add(tuple(sorted((number[node], number[tuple(neighbour)]))))
    return sorted(cables)


def connected(nodes, cables):
    reached = {min(nodes)}
    border = list(reached)
    while border:
        node = border.pop()
        for a, b in cables:
            for here, there in ((a, b), (b, a)):
                if here == node and there not in reached:
                    reached.add(there)
                    border.append(there)
    return reached == set(nodes)


def punctured_torus(kind, seed):
    """The text of a topology file: a torus without REMOVED random cables or nodes, still connected. The same seed
    always removes the same."""
    cables = torus_cables(PUNCTURED)
    nodes = sorted({node for cable in cables for node in cable})
    generator = random.Random(f"{kind}:{seed}")
    while True:
        if kind == "edge_punctured":
            gone = sorted(generator.sample(cables, REMOVED))
            rest = nodes, [cable for cable in cables if cable not in gone]
            removal = "removed_links = [" + ", ".join(f'["{a}", "{b}"]' for a, b in gone) + "]"
        else:
            gone = sorted(generator.sample(nodes, REMOVED))
            left = [node for node in nodes if node not in gone]
            rest = left, [cable for cable in cables if not set(cable) & set(gone)]
            removal = "removed_nodes = [" + ", ".join(f'"{node}"' for node in gone) + "]"
        if connected(*rest):
            break
    torus = "torus:" + "x".join(str(length) for length in PUNCTURED)
    return f'name = "{kind}:{seed}"\ngenerator = "{torus}"\n{removal}\n'


def expand(names, folder):
    """Named topologies for a list of names. `edge_punctured:1-10` stands for ten of them, whose files are written into
    `folder`."""
    result = []
    for name in names:
        match = re.fullmatch(r"(edge_punctured|node_punctured):(\d+)(?:-(\d+))?", name)
        if not match:
            result.append(Named(name, str(Path(name).resolve()) if Path(name).is_file() else name))
            continue
        kind, first, last = match[1], int(match[2]), int(match[3] or match[2])
        for seed in range(first, last + 1):
            path = Path(folder) / f"{kind}-{seed}.toml"
            path.write_text(punctured_torus(kind, seed))
            result.append(Named(f"{kind}:{seed}", str(path)))
    return result


def default_rate(nodes):
    """Rates at which two processors still saturate all links."""
    return "50mbit" if nodes > 16 else "100mbit"
