#include "trireme/plan/microbatch.hpp"

#include <gtest/gtest.h>

namespace trireme::plan {
namespace {

std::vector<SampleVisit> visits(std::size_t count) {
    std::vector<SampleVisit> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i].sample = i;
    return all;
}

TEST(CutEvenly, KeepsTheOrderAndDiffersByAtMostOne) {
    for (std::size_t count = 0; count <= 20; ++count) {
        for (std::size_t parts = 1; parts <= 8; ++parts) {
            std::vector<SampleVisit> joined;
            for (const auto& part : cut_into_microbatches(visits(count), parts)) {
                EXPECT_GE(part.size(), count / parts);
                EXPECT_LE(part.size(), count / parts + 1);
                joined.insert(joined.end(), part.begin(), part.end());
            }
            EXPECT_EQ(joined, visits(count));
        }
    }
}

TEST(CutEvenly, LeavesPartsEmptyWhenThereAreTooFewSamples) {
    const auto cut = cut_into_microbatches(visits(1), 3);

    EXPECT_EQ(cut.size(), 3U);
    EXPECT_EQ(cut[0].size() + cut[1].size() + cut[2].size(), 1U);
}

}  // namespace
}  // namespace trireme::plan
