# Under the licence of Sluice.
#
# A recipe for Spack: copy this folder to packages/sluice of a repository of yours
# (spack repo create ~/my-packages; spack repo add ~/my-packages), then
#     spack dev-build -d /path/to/sluice sluice@main
# or `spack install sluice` where `url` names an archive that you can reach.
from spack.package import *


class Sluice(CMakePackage):
    """Couples programs that exchange netCDF files, through memory, without a change to them."""

    maintainers = []
    license("BSD-3-Clause")

    version("main")

    variant("fortran", default=True, description="PnetCDF's Fortran interfaces")
    variant("hdf5", default=True, description="Blobs in HDF5 files")
    variant("examples", default=False, description="The examples, which call PnetCDF")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("openmpi@4.1")
    depends_on("boost@1.74: +program_options")
    depends_on("yaml-cpp@0.7:")
    depends_on("utf8proc")
    depends_on("hdf5+mpi", when="+hdf5")
    depends_on("parallel-netcdf", when="+examples")

    conflicts("%gcc@:10", msg="Sluice is written in C++20")
    conflicts("platform=darwin", msg="Sluice runs on Linux")

    def cmake_args(self):
        return [
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            self.define("SLUICE_TESTS", False),
            self.define("SLUICE_BENCH", False),
            self.define("SLUICE_MPICH", False),
            self.define_from_variant("SLUICE_EXAMPLES", "examples"),
            self.define_from_variant("SLUICE_FORTRAN", "fortran"),
            self.define_from_variant("SLUICE_HDF5", "hdf5"),
        ]
