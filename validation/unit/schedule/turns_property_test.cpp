// Tests schedules with replicas that execute different numbers of micro-batches, as slow replicas do.
#include <gtest/gtest.h>

#include <algorithm>

#include "trireme/base/error.hpp"
#include "unit/schedule/every_shape.hpp"

namespace trireme::schedule {
namespace {

// Sets the turns of each stage. "001" gives two turns to the first replica, then one to the second, and
// repeats.
PipelineShape with_turns(PipelineShape shape, const std::vector<std::string>& turns) {
    for (std::size_t stage = 0; stage < turns.size(); ++stage) {
        for (std::size_t m = 0; m < shape.executor[stage].size(); ++m) {
            const auto replica = static_cast<std::size_t>(turns[stage][m % turns[stage].size()] - '0');
            shape.executor[stage][m] = shape.holders[stage][replica];
        }
    }
    return shape;
}

int replicas_in(const std::string& turns) { return 1 + *std::ranges::max_element(turns) - '0'; }

// Visits shapes of two and three stages with up to three replicas, for every pair of turn patterns.
template <class Use>
void for_each_shape(int max_microbatches, Use&& use) {
    const std::vector<std::string> ways{"0",        "01",       "0001",    "1011",
                                        "11111110", "00101001", "0020120", "22222012"};
    for (const std::string& first : ways) {
        for (const std::string& second : ways) {
            for (const std::vector<std::string>& turns :
                 {std::vector{first, second}, std::vector{first, second, first}}) {
                std::vector<int> replicas;
                for (const std::string& each : turns) replicas.push_back(replicas_in(each));
                for (int microbatches = 1; microbatches <= max_microbatches; ++microbatches) {
                    SCOPED_TRACE(first + " " + second);
                    use(with_turns(make_uneven_shape(replicas, microbatches), turns));
                }
            }
        }
    }
}

TEST(UnevenTurns, NeedAtMostTwoSlotsInSynchronousSchedules) {
    for_each_shape(12, [](const PipelineShape& shape) {
        for (const Schedule& kind :
             {require_schedule("inter-layer"), require_schedule("gpipe"), require_schedule("1f1b")})
            EXPECT_LE(find_min_slots(kind, shape), 2) << kind.name << ", " << describe_uneven_shape(shape);
    });
}

// Weights of one update ago do not suffice if a stage must run further ahead; 2BW rejects such shapes.
TEST(UnevenTurns, AreProvedForAsynchronousSchedules) {
    for_each_shape(8, [](PipelineShape shape) {
        shape.slots = shape.microbatches * shape.stages() + shape.stages();
        for (const Schedule& kind : {require_schedule("pipedream"), require_schedule("pipedream-vertical")})
            EXPECT_EQ(fault_of(kind, shape), "") << kind.name << ", " << describe_uneven_shape(shape);
        try {
            EXPECT_EQ(fault_of(require_schedule("pipedream-2bw"), shape), "") << describe_uneven_shape(shape);
        } catch (const ConfigError& refusal) {
            EXPECT_NE(std::string(refusal.what()).find("steps ahead"), std::string::npos) << refusal.what();
        }
    });
}

}  // namespace
}  // namespace trireme::schedule
