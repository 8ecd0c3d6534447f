# Cross compiling for aarch64 with Debian's compiler. The libraries are those of config/aarch64_root.sh, in a folder of
# their own: arm64's packages of Open MPI cannot be installed beside the native ones. What is built runs under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_Fortran_COMPILER aarch64-linux-gnu-gfortran)
set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build-aarch64/root)
cmake_path(NORMAL_PATH CMAKE_SYSROOT)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
# QEMU_CPU chooses the processor; by default it is one with everything, and SVE's vectors have 512 bits as A64FX's.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})

# The wrappers of the other architecture's MPI cannot be asked.
set(libraries ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(MPI_C_LIB_NAMES mpi CACHE STRING "")
set(MPI_C_COMPILER_INCLUDE_DIRS ${libraries}/openmpi/include ${libraries}/openmpi/include/openmpi CACHE STRING "")
set(MPI_Fortran_LIB_NAMES mpi_usempif08 mpi_usempi_ignore_tkr mpi_mpifh mpi CACHE STRING "")
set(MPI_Fortran_COMPILER_INCLUDE_DIRS ${libraries}/openmpi/include ${libraries}/fortran/gfortran-mod-15/openmpi CACHE STRING "")
foreach(name mpi mpi_mpifh mpi_usempi_ignore_tkr mpi_usempif08)
  set(MPI_${name}_LIBRARY ${libraries}/openmpi/lib/lib${name}.so CACHE FILEPATH "")
endforeach()
