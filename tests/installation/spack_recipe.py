#!/usr/bin/env python3
"""Reads the Spack recipe as Spack would, with directives that only take notes, and compares it with the build: version,
what the build requires, options. Spack itself is not asked: Debian does not have it.

  spack_recipe.py SOURCE_FOLDER
"""
import pathlib
import re
import sys
import types

root = pathlib.Path(sys.argv[1])
recipe = root / "config/packaging/spack/packages/libcoll/package.py"
cmake = (root / "CMakeLists.txt").read_text()

# What CMakeLists.txt requires, as Spack calls it; None: nothing to install, or part of another.
PACKAGES = {
    "Threads": None, "PkgConfig": "pkgconfig", "MPI": "mpi", "nlohmann_json": "nlohmann-json", "CLI11": "cli11",
    "BOOST_MULTIPRECISION": "boost", "PUGIXML": "pugixml", "UCX": "ucx", "OFI": "libfabric", "HWLOC": "hwloc",
    "FFTW": "fftw", "GLPK_LIBRARY": "glpk", "FFTW_MPI_LIBRARY": "fftw", "GTest": "googletest", "benchmark": "benchmark",
}


class CMakePackage:
    def define(self, name, value):
        return name

    def define_from_variant(self, name, variant):
        assert variant in noted["variant"], f"there is no variant '{variant}'"
        return name


def fail(sentence):
    sys.exit(f"{recipe}: {sentence}")


noted = {}
spack = types.ModuleType("spack.package")
for directive in ("license", "version", "variant", "depends_on", "conflicts"):
    noted[directive] = []
    setattr(spack, directive, lambda text, *_, _notes=noted[directive], **__: _notes.append(text))
spack.CMakePackage = CMakePackage
sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": spack})
scope = {}
exec(compile(recipe.read_text(), recipe, "exec"), scope)

version = re.search(r"^project\(libcoll VERSION (\S+)", cmake, re.MULTILINE)[1]
if noted["version"] != [version]:
    fail(f"found version {noted['version']}, expected {version}")
required = re.findall(r"^ *(?:find_\w+|pkg_check_modules)\((\w+)[^)]*\bREQUIRED", cmake, re.MULTILINE)
if len(required) < 10:
    fail(f"found {required} in CMakeLists.txt, expected all that it requires")
dependencies = {re.match(r"[\w-]+", text)[0] for text in noted["depends_on"]}
for name in required:
    if name not in PACKAGES:
        fail(f"CMakeLists.txt requires {name}, which this test does not know")
    if PACKAGES[name] not in dependencies | {None}:
        fail(f"found no depends_on for {name}, expected {PACKAGES[name]}")
options = set(re.findall(r"^ *option\((\w+)", cmake + (root / "config/unity.cmake").read_text(), re.MULTILINE))
for name in scope["Libcoll"]().cmake_args():
    if name not in options | {"BUILD_TESTING"}:
        fail(f"found {name} among CMake's arguments, expected one of {', '.join(sorted(options))}")
