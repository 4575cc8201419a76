#include <gtest/gtest.h>

#include <sstream>

#include "app/program.hpp"

namespace trireme::app {
namespace {

std::string warning(const Start& start) {
    std::ostringstream out;
    warn_of_no_meeting(start, out);
    return out.str();
}

TEST(SrunWarning, IsOfProcessesThatCannotMeet) {
    const Start alone{.launcher = Launcher::srun, .processes = 4};

    EXPECT_EQ(warning(alone).rfind("trireme: srun offers its 4 processes neither PMIx nor PMI; ", 0), 0U);
    EXPECT_NE(warning(alone).find("srun --mpi=pmix"), std::string::npos);
    EXPECT_EQ(warning({.launcher = Launcher::srun, .processes = 4, .process = 1}), "");
    EXPECT_EQ(warning({.launcher = Launcher::srun, .processes = 4, .has_pmix = true}), "");
    EXPECT_EQ(warning({.launcher = Launcher::srun, .processes = 4, .has_pmi = true}), "");
    EXPECT_EQ(warning({.launcher = Launcher::srun}), "");
    EXPECT_EQ(warning({.launcher = Launcher::mpirun_of_open_mpi, .processes = 4}), "");
    EXPECT_EQ(warning({}), "");
}

}  // namespace
}  // namespace trireme::app
