#include <gtest/gtest.h>

#include <sstream>

#include "app/program.hpp"

namespace trireme::app {
namespace {

std::string warning(const ProcessStart& start) {
    std::ostringstream out;
    warn_without_pmi(start, out);
    return out.str();
}

TEST(SrunWarning, IsPrintedOnceIfSrunOffersNeitherPmixNorPmi) {
    const ProcessStart without_pmi{.launcher = Launcher::srun, .process_count = 4};

    EXPECT_EQ(warning(without_pmi).rfind("trireme: srun offers its 4 processes neither PMIx nor PMI; ", 0), 0U);
    EXPECT_NE(warning(without_pmi).find("srun --mpi=pmix"), std::string::npos);
    EXPECT_EQ(warning({.launcher = Launcher::srun, .process_count = 4, .process_index = 1}), "");
    EXPECT_EQ(warning({.launcher = Launcher::srun, .process_count = 4, .has_pmix = true}), "");
    EXPECT_EQ(warning({.launcher = Launcher::srun, .process_count = 4, .has_pmi = true}), "");
    EXPECT_EQ(warning({.launcher = Launcher::srun}), "");
    EXPECT_EQ(warning({.launcher = Launcher::mpirun_of_open_mpi, .process_count = 4}), "");
    EXPECT_EQ(warning({}), "");
}

}  // namespace
}  // namespace trireme::app
