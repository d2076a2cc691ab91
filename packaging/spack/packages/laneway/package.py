# SPDX-License-Identifier: BSD-3-Clause
"""The recipe of Spack. The project has no public address, so that versions come from sources that are here: packaging/README.md."""

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # Spack 0.23, whose spack.package has it
    pass


class Laneway(CMakePackage):
    """Laneway moves irregular data between the processes of a parallel program, such as the halo of a sparse matrix, along the
    hierarchy of the machine. It sits on top of any MPI library."""

    license("BSD-3-Clause")

    version("0.2.0")

    variant("shared", default=True, description="Build liblaneway.so, else liblaneway.a")
    variant("fortran", default=True, description="Build the Fortran module")
    variant("preload", default=True, when="+shared", description="Build the library that takes over the calls of unchanged programs")
    variant("plugins", default=True, description="Build the device plugins")
    variant("cuda", default=False, when="+plugins", description="Build the device plugin for NVIDIA")
    variant("rocm", default=False, when="+plugins", description="Build the device plugin for AMD")
    variant("reorder", default=True, description="Reorder ranks with Scotch")
    variant("bench", default=False, description="Build laneway-bench")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi@3.1:")
    depends_on("hwloc@2:")
    depends_on("nlohmann-json", type="build")
    depends_on("tomlplusplus", type="build")

    depends_on("scotch@7:", when="+reorder")
    depends_on("scotch@7:", when="+bench")
    depends_on("cli11", type="build", when="+bench")
    depends_on("eigen@3", type="build", when="+bench")
    depends_on("qhull", when="+bench")
    depends_on("cuda@11:", type="build", when="+cuda")
    depends_on("hip", type="build", when="+rocm")
    depends_on("rocm-smi-lib", type="build", when="+rocm")

    conflicts("%gcc@:11", msg="C++20 is needed: GCC 12 or newer")
    conflicts("%clang@:15", msg="C++20 is needed: clang 16 or newer")

    def cmake_args(self):
        return [
            self.define_from_variant("LANEWAY_SHARED", "shared"),
            self.define_from_variant("LANEWAY_FORTRAN", "fortran"),
            self.define_from_variant("LANEWAY_PRELOAD", "preload"),
            self.define_from_variant("LANEWAY_PLUGINS", "plugins"),
            self.define_from_variant("LANEWAY_CUDA", "cuda"),
            self.define_from_variant("LANEWAY_HIP", "rocm"),
            self.define_from_variant("LANEWAY_REORDER", "reorder"),
            self.define_from_variant("LANEWAY_BENCH", "bench"),
            self.define("LANEWAY_EXAMPLES", False),
            self.define("LANEWAY_INTEGRATIONS", False),
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx),
        ] + ([self.define("MPI_Fortran_COMPILER", self.spec["mpi"].mpifc)] if self.spec.satisfies("+fortran") else [])
