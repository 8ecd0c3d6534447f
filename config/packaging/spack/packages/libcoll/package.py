# Builds a source tree of libcoll by Spack:
#   spack repo add config/packaging/spack
#   spack dev-build libcoll@0.12.0
from spack.package import *


class Libcoll(CMakePackage):
    """Planned collectives under unmodified MPI programs, for direct-connect fabrics."""

    license("MIT")
    version("0.12.0")  # from a source tree: there is no archive to fetch

    variant("tests", default=False, description="Build tests and micro-benchmarks")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("ucx@1.13:1.18")
    depends_on("libfabric@1.17:")
    depends_on("hwloc@2:")
    depends_on("glpk")
    depends_on("fftw@3 +mpi")
    depends_on("pugixml")
    depends_on("tomlplusplus")
    depends_on("cli11")
    depends_on("nlohmann-json")
    depends_on("boost@1.74:")
    depends_on("googletest", when="+tests")
    depends_on("benchmark", when="+tests")
    depends_on("clp", when="+tests")

    conflicts("%gcc@:11", msg="C++20 is needed")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_TESTING", "tests"),
            self.define("LIBCOLL_UNITY", True),
            # Spack has one MPI for a package; it is found out at run time which one a program has.
            self.define("LIBCOLL_OTHER_MPIS", True),
        ]
