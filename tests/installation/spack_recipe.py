#!/usr/bin/env python3
"""Reads the Spack recipe as Spack would, with directives that only take notes, and compares it with the build: version,
what the build requires, options. With a program, it also configures, builds and installs as the recipe has Spack do, and
runs the program under what was installed. Spack itself is not asked: Debian does not have it.

  spack_recipe.py SOURCE_FOLDER [PROGRAM [ARGUMENTS]]
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
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
        return f"-D{name}:BOOL={'ON' if value else 'OFF'}"

    def define_from_variant(self, name, variant):
        assert variant in noted["variant"], f"there is no variant '{variant}'"
        return self.define(name, noted["default"][variant])


def fail(sentence):
    sys.exit(f"{recipe}: {sentence}")


noted = {"default": {}}
spack = types.ModuleType("spack.package")
for directive in ("license", "version", "variant", "depends_on", "conflicts"):
    noted[directive] = []
    setattr(spack, directive, lambda text, *_, _notes=noted[directive], **__: _notes.append(text))
note_variant = spack.variant
spack.variant = lambda name, default, **_: (note_variant(name), noted["default"].update({name: default}))
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
arguments = scope["Libcoll"]().cmake_args()
for argument in arguments:
    name = re.match(r"-D(\w+)", argument)[1]
    if name not in options | {"BUILD_TESTING"}:
        fail(f"found {name} among CMake's arguments, expected one of {', '.join(sorted(options))}")


def run(*command, environment=None):
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ran.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with exit code {ran.returncode}:\n{ran.stdout[-4000:]}")


def install_and_run(program):
    """The steps of Spack's CMakePackage, then calls that the installed library serves."""
    with tempfile.TemporaryDirectory() as folder:
        build, prefix = f"{folder}/build", f"{folder}/prefix"
        run("cmake", "-S", root, "-B", build, "-G", "Ninja", f"-DCMAKE_INSTALL_PREFIX:STRING={prefix}",
            "-DCMAKE_BUILD_TYPE:STRING=Release", *arguments)  # fmt: skip
        run("cmake", "--build", build)
        run("cmake", "--install", build)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LIBCOLL_")}
        environment |= {"LIBCOLL_CACHE_DIR": f"{folder}/cache", "LIBCOLL_COST_MODEL": "no", "XDG_CONFIG_HOME": folder,
                        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
        os.mkdir(f"{folder}/cache")
        run("timeout", "-k", "5", "100", f"{prefix}/bin/libcoll", "run", f"--stats=json:{folder}/stats.json",
            "--topology", "hypercube:2", "--", "mpirun", "--oversubscribe", "-n", "4", *program,
            environment=environment)  # fmt: skip
        served = json.loads(pathlib.Path(f"{folder}/stats.json").read_text())["collectives"]["allgather"]["served"]
        if served == 0:
            fail("nothing was served")


if sys.argv[2:]:
    install_and_run(sys.argv[2:])
