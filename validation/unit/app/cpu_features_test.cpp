// Tests that a program built for another processor reports this instead of executing an illegal instruction.
#include <gtest/gtest.h>

#include "app/program.hpp"
#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

using validation::catch_message;

using Words = std::vector<std::string>;

TEST(CpuFeatures, AreMissingIfTheProcessorDoesNotListThem) {
    EXPECT_EQ(list_missing_features("avx2 fma avx512f", "fpu avx fma avx2 pni"), Words{"avx512f"});
    EXPECT_EQ(list_missing_features("avx avx2", "avx512f avx2x"), (Words{"avx", "avx2"}));
    EXPECT_EQ(list_missing_features("avx", " avx\n"), Words{});
    EXPECT_EQ(list_missing_features("", ""), Words{});
}

TEST(CpuFeatures, AreNamedWithTheHostAndARemedyIfMissing) {
    BuildFacts build = make_build_facts();
    build.cpu = "znver4";
    build.cpu_features = "avx2 avx512f avx512vl";

    EXPECT_EQ(catch_message<ResourceError>([&] { check_features(build, "avx avx2", "node17"); }),
              "node17 lacks avx512f, avx512vl, which this build of Trireme uses (-march=znver4); build with "
              "-DTRIREME_CPU_ARCH=x86-64-v3, or with the name of the oldest processor that will run Trireme");
    EXPECT_NO_THROW(check_features(build, "avx512vl avx512f avx2", "node17"));
    EXPECT_NO_THROW(check_features(build, "", "node17"));
}

// The tests run on a machine that can execute the kernels; otherwise they would end with SIGILL.
TEST(CpuFeatures, AreAvailableOnTheMachineThatRunsTheTests) {
    EXPECT_NE(make_build_facts().cpu, "");
    EXPECT_NO_THROW(check_processor(make_build_facts()));
}

}  // namespace
}  // namespace trireme::app
