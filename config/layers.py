#!/usr/bin/env python3
"""Prints the folders and their arrows as the sources have them, and tells what points back.

  config/layers.py [--all]
    --all  every arrow with the number of its includes; otherwise arrows that others together stand for are left out

An arrow says what a folder may include: what it points at and whatever can be reached from there. Ends with 1 and names
file and line where a source includes a header, or declares a class, of a folder that its own does not reach, where
it includes a library's header that is another folder's, where it defines something outside its folder's namespace, where
a header has a using directive, and where a library target is above others than its folder.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A folder, and those right below it. A folder that is not listed is not known, and so is an error.
ARROWS = {
    "planner/base": "",
    "planner/topology": "planner/base",
    "planner/lp": "planner/base",
    "planner/schedule": "planner/topology",
    "planner/simulate": "planner/schedule",
    "planner/registry": "planner/schedule",
    "planner/route": "planner/schedule",
    "planner/broadcast/bound": "planner/registry",
    "planner/broadcast/bfb": "planner/broadcast/bound",
    "planner/broadcast/classic": "planner/broadcast/bound planner/route",
    "planner/broadcast/forest": "planner/broadcast/bfb planner/broadcast/classic",
    "planner/broadcast": "planner/broadcast/forest",
    "planner/broadcast/lp": "planner/broadcast planner/lp",
    "planner/flow/problem": "planner/schedule",
    "planner/flow/paths": "planner/flow/problem",
    "planner/flow/first_order": "planner/flow/paths",
    "planner/flow/lp": "planner/flow/paths planner/lp",
    "planner/flow/lowering": "planner/flow/first_order planner/flow/lp planner/registry planner/route",
    "planner/flow/baseline": "planner/flow/lowering",
    "planner/flow": "planner/flow/baseline planner/broadcast/classic",
    "planner/reconfigure": "planner/broadcast planner/lp",
    "planner/plan": "planner/broadcast",
    "planner/exchange": "planner/plan",
    "libcoll": "",  # the version, the names of calls and settings
    "libcoll/base": "libcoll planner/schedule",
    "libcoll/reduce": "",
    "libcoll/transport": "libcoll/base",
    "libcoll/transport/mpi": "libcoll/transport",
    "libcoll/transport/ucx": "libcoll/transport",
    "libcoll/transport/uct": "libcoll/transport",
    "libcoll/transport/ofi": "libcoll/transport",
    "libcoll/execute": "libcoll/transport",
    "libcoll/node": "libcoll/execute",
    "libcoll/select": "libcoll/execute",
    "libcoll/plan": "libcoll/execute planner/plan",
    "libcoll/recover": "libcoll/node",
    "libcoll/observe": "libcoll/execute",
    "libcoll/comm": "libcoll/select libcoll/plan libcoll/recover libcoll/observe libcoll/transport/mpi "
                    "libcoll/transport/ucx libcoll/transport/uct libcoll/transport/ofi",
    "libcoll/serve": "libcoll/comm libcoll/reduce pmpi",
    "libcoll/serve/core": "libcoll/serve",
    "libcoll/api": "libcoll/comm libcoll/reduce planner/simulate",
    "libcoll/fabric": "libcoll/base",
    "libcoll/command": "libcoll/comm libcoll/reduce libcoll/fabric pmpi planner/simulate planner/flow planner/reconfigure "
                       "planner/broadcast/lp planner/exchange",
    "pmpi": "",
    "pmpi/preload": "pmpi pmpi/shim libcoll",
    "pmpi/shim": "pmpi",
    "pmpi/shim/standard_abi": "pmpi",  # an mpi.h
}
# A folder's namespace is libcoll:: and its path below planner/ or libcoll/, but for these. All see what base/ has.
NAMESPACES = {
    "planner/base": "libcoll",
    "libcoll": "libcoll",
    "libcoll/base": "libcoll",
    "planner/broadcast/lp": "libcoll::broadcast_lp",  # lp is planner/lp
    "planner/flow/lp": "libcoll::flow_lp",
    "planner/plan": "libcoll::default_plan",
    "libcoll/serve/core": "libcoll::serve",
}
# Folders above all others, with what lies in them.
ABOVE_ALL = ("benchmarks", "tests", "libcoll/api/example")
# Headers of libraries that are not everybody's, by their beginnings.
FOREIGN = {
    "glpk.h": "planner/lp",
    "pugixml": "planner/schedule planner/exchange",
    "nlohmann/": "planner/exchange libcoll/fabric libcoll/command",
    "CLI/": "libcoll/command",
    "mpi.h": "pmpi/shim",
    "mpi-ext.h": "pmpi/shim",
    "hwloc": "libcoll/node",
    "ucp/": "libcoll/transport/ucx libcoll/transport/uct",
    "uct/": "libcoll/transport/uct",
    "ucm/": "libcoll/transport/ofi",
    "rdma/": "libcoll/transport/ofi",
}

INCLUDE = re.compile(r'\s*#\s*include\s+([<"])([^">]+)[">]')
DECLARED = re.compile(r"(?:class|struct) (\w+);")
DEFINED = re.compile(r"(?:class|struct) (\w+)(?: final)?(?: :| \{|$)")
NAMESPACE = re.compile(r"namespace (libcoll[\w:]*) \{")
FOLDER_TARGET = re.compile(r"libcoll_folder\((\w+) ([\w/]+)([^)]*)\)")


def reached(folder, arrows, found=None):
    """The folder and everything below it."""
    found = set() if found is None else found
    if folder not in found:
        found.add(folder)
        for below in arrows.get(folder, ()):
            reached(below, arrows, found)
    return found


def namespace_of(folder):
    return NAMESPACES.get(folder) or "libcoll::" + "::".join(folder.split("/")[1:])


def is_above_all(folder):
    return any(folder == each or folder.startswith(each + "/") for each in ABOVE_ALL)


def sources():
    """(path, folder, lines) of every source, by path."""
    for top in ("libcoll", "planner", "pmpi"):
        for directory, _, names in os.walk(os.path.join(ROOT, top)):
            folder = os.path.relpath(directory, ROOT)
            for name in names:
                if name.endswith((".c", ".cpp", ".h", ".def")):
                    with open(os.path.join(directory, name), encoding="utf-8") as text:
                        yield os.path.join(folder, name), folder, text.read().split("\n")


def read_sources(faults):
    """By folder and folder the number of includes. Appends what points back to the faults."""
    allowed = {folder: below.split() for folder, below in ARROWS.items()}
    reach = {folder: reached(folder, allowed) for folder in allowed}
    found, declared, defined = {}, [], {}
    for path, folder, lines in sorted(sources()):
        if is_above_all(folder):
            continue
        if folder not in reach:
            faults.append(f"{path}: no arrows are known of {folder}")
            continue
        for number, line in enumerate(lines, 1):
            place = f"{path}:{number}: "
            if include := INCLUDE.match(line):
                kind, header = include.groups()
                if kind == "<":
                    owners = [owners for start, owners in FOREIGN.items() if header.startswith(start)]
                    if owners and folder not in owners[0].split():
                        faults.append(f"{place}{folder} includes <{header}>, which is for {owners[0]}")
                    continue
                target = os.path.dirname(header)
                if target not in reach[folder]:
                    faults.append(f"{place}{folder} includes {header}, which is not below it")
                if target != folder:
                    found.setdefault(folder, {}).setdefault(target, 0)
                    found[folder][target] += 1
            elif namespace := NAMESPACE.match(line):
                own = namespace_of(folder)
                if not (namespace[1] + "::").startswith(own + "::") and not DECLARED.match(lines[number]):
                    faults.append(f"{place}namespace {namespace[1]}, expected {own}")
            elif line.startswith("using namespace ") and path.endswith(".h"):
                faults.append(f"{place}a using directive in a header")
            elif name := DECLARED.match(line):
                declared.append((place, folder, name[1]))
            elif name := DEFINED.match(line):
                defined.setdefault(name[1], set()).add(folder)
    for place, folder, name in declared:
        if name in defined and not defined[name] & reach[folder]:
            faults.append(f"{place}{folder} declares {name} of {', '.join(sorted(defined[name]))}, which is not below it")
    return found


def check_targets(faults):
    """Whether library targets are above each other as their folders are."""
    folder_of, above = {"libcoll_reduce": "libcoll/reduce"}, {}
    for top in ("planner", "libcoll"):
        with open(os.path.join(ROOT, top, "CMakeLists.txt"), encoding="utf-8") as text:
            for target, folder, words in FOLDER_TARGET.findall(text.read()):
                folder_of[target] = f"{top}/{folder}"
                listed = re.search(r"\bABOVE ([\w\s]+?)\s*(?:\b(?:LIBRARIES|OPTIONS)\b|\$|$)", words)
                above[target] = listed[1].split() if listed else []
    for target, others in above.items():
        linked = {folder_of.get(other, other) for other in others}
        drawn = set(ARROWS.get(folder_of[target], "").split()) - {"libcoll", "pmpi"}
        if linked != drawn:
            faults.append(f"{folder_of[target]}: the target {target} is above {', '.join(sorted(linked)) or 'none'}, "
                          f"expected {', '.join(sorted(drawn)) or 'none'}")


def draw(found, everything):
    """One line for each folder, those that others point at last."""
    height = {}

    def height_of(folder):
        if folder not in height:
            height[folder] = 0  # ends the search where arrows go round
            height[folder] = 1 + max((height_of(below) for below in found.get(folder, {})), default=0)
        return height[folder]

    width = max(map(len, found))
    for folder in sorted(found, key=lambda each: (-height_of(each), each)):
        below = found[folder]
        if not everything:
            # Left out: what another arrow leads to as well.
            below = [each for each in below
                     if not any(each in reached(other, found) for other in below if other != each)]
        words = [f"{each} ({found[folder][each]})" if everything else each for each in sorted(below)]
        print(f"{folder:{width}} ──▶ {', '.join(words)}")


def main():
    faults = []
    found = read_sources(faults)
    check_targets(faults)
    draw(found, "--all" in sys.argv[1:])
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
