#include <gtest/gtest.h>

#include <fstream>

#include "scratch_folder.hpp"
#include "tools/doctor/probes.hpp"
#include "unit/tools/doctor_facts.hpp"

namespace trireme::tools::doctor {
namespace {

namespace fs = std::filesystem;

TEST(Scratch, IsMeasuredAndLeftUnchanged) {
    const validation::ScratchFolder scratch;
    const fs::path folder = scratch.file("");

    const ScratchFacts facts = measure_scratch(folder, 2);

    EXPECT_EQ(facts.failure, "");
    EXPECT_EQ(facts.hdf5_failure, "");
    EXPECT_GT(facts.written_bytes_per_s, 0);
    EXPECT_GT(facts.read_bytes_per_s, 0);
    EXPECT_GT(facts.free_bytes, 0);
    EXPECT_TRUE(fs::is_empty(folder));
}

TEST(Scratch, IsNamedIfItIsNotAFolder) {
    const validation::ScratchFolder scratch;
    const fs::path folder = scratch.file("");
    std::ofstream(folder / "file") << "text";

    const std::string below = (folder / "file/below").string();

    EXPECT_EQ(measure_scratch(below).failure, "--scratch " + below + " is no folder; create it (mkdir -p " +
                                                  below + ") or name another folder");
    EXPECT_TRUE(has(measure_scratch(folder / "file").failure, "is no folder"));
}

// No disk can hold an exabyte.
TEST(Scratch, FailsAndIsLeftUnchangedIfTooSmall) {
    const validation::ScratchFolder scratch;
    const fs::path folder = scratch.file("");

    const ScratchFacts facts = measure_scratch(folder, std::size_t{1} << 40);

    EXPECT_TRUE(has(facts.failure, "cannot be written")) << facts.failure;
    EXPECT_TRUE(fs::is_empty(folder));
}

}  // namespace
}  // namespace trireme::tools::doctor
