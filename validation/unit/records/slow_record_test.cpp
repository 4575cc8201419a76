// Tests what a run records about ranks that were slowed down on purpose.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scratch_folder.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme::records {
namespace {

using nlohmann::json;

TEST(SlowRecord, ContainsTurnsRandomChoicesAndTraces) {
    const validation::ScratchFolder folder;
    Manifest written;
    written.slow = {
        {.factor = 4, .choice = config::SlowChoice::turn, .kernels = config::SlowKernels::matmuls},
        {.factor = 2, .last_step = 9, .choice = config::SlowChoice::random, .every = 5, .highest_factor = 3},
        {.choice = config::SlowChoice::trace, .trace = "slow.csv"}};

    RunDirectory(folder.file("run")).write_manifest(written);

    const json manifest = json::parse(validation::read_whole(folder.file("run/manifest.json")));
    EXPECT_EQ(json(to_json(read_record<Manifest>(manifest, "manifest.json"))), manifest);
    EXPECT_EQ(manifest.at("slow"),
              json::parse(R"([{"rank": "turn", "factor": 4, "first_step": 1, "on": "products"},)"
                          R"( {"rank": "random", "factor": 2, "highest_factor": 3, "first_step": 1,)"
                          R"( "last_step": 9, "every": 5}, {"trace": "slow.csv"}])"));
}

}  // namespace
}  // namespace trireme::records
