#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "scratch_folder.hpp"
#include "tools/doctor/probes.hpp"

namespace trireme::tools::doctor {
namespace {

namespace fs = std::filesystem;

bool is_installed(const std::vector<OptionalSoftware>& parts, const std::string& name) {
    const auto part = std::ranges::find(parts, name, &OptionalSoftware::name);
    return part != parts.end() && part->is_installed;
}

void make_command(const fs::path& path, bool may_run = true) {
    std::ofstream(path) << "#!/bin/sh\n";
    fs::permissions(path, may_run ? fs::perms::owner_all : fs::perms::owner_read);
}

TEST(OptionalParts, AreFoundOnThePath) {
    const validation::ScratchFolder scratch;
    const fs::path folder = scratch.file("");
    fs::create_directory(folder / "bin");
    make_command(folder / "bin/smpirun");
    make_command(folder / "bin/srun");
    make_command(folder / "bin/sbatch", false);
    const std::string path = "/none:" + (folder / "bin").string();
    const auto parts = [&] {
        return find_optional_software(path, folder.string(), "oneDNN 2.6.3", "Open MPI v4.1.4");
    };

    EXPECT_TRUE(is_installed(parts(), "mpirun"));  // srun starts ranks, too
    EXPECT_TRUE(is_installed(parts(), "oneDNN"));
    EXPECT_FALSE(is_installed(parts(), "MPICH"));
    EXPECT_FALSE(is_installed(parts(), "Slurm"));    // sbatch is not executable
    EXPECT_FALSE(is_installed(parts(), "SimGrid"));  // smpirun alone simulates nothing
    make_command(folder / "trireme-sim");
    make_command(folder / "bin/mpiexec.mpich");
    fs::permissions(folder / "bin/sbatch", fs::perms::owner_all);
    EXPECT_TRUE(is_installed(parts(), "SimGrid"));
    EXPECT_TRUE(is_installed(parts(), "MPICH"));
    EXPECT_TRUE(is_installed(parts(), "Slurm"));
}

TEST(OptionalParts, NameTheOtherMpiLibrary) {
    const auto parts = find_optional_software("", "/none", "BLAS libopenblas.so", "MPICH Version: 4.0.2");

    EXPECT_TRUE(std::ranges::find(parts, "Open MPI", &OptionalSoftware::name) != parts.end());
    for (const OptionalSoftware& part : parts) {
        EXPECT_FALSE(part.is_installed) << part.name;
        EXPECT_FALSE(part.purpose.empty() || part.debian.empty() || part.spack.empty()) << part.name;
    }
}

}  // namespace
}  // namespace trireme::tools::doctor
