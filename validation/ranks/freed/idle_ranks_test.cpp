// A rank that --auto-dp off leaves idle takes part in no training message until the next change of the layout.
#include <algorithm>

#include "ranks/freed/trained_run.hpp"

namespace trireme::run {
namespace {

using validation::MpiCounts;

// Blocks freeze after step 5, and the pipeline becomes shorter. The next period would end after step 10.
constexpr std::size_t period = 5;
constexpr std::size_t short_steps = 6, long_steps = 9;

// Control messages of a step: its record and its loss.
constexpr double max_control_bytes = 2048;

class IdleRanks : public validation::TrainedRun {
protected:
    IdleRanks() {
        config_.layout.pipe = session_.size();
        config_.policy.freeze = {.rule = config::FreezeRule::schedule,
                                 .alpha = session_.size() < 4 ? 0.7 : 0.3,
                                 .every = period,
                                 .auto_pipe = config::AutoPipe::published,
                                 .auto_dp = false};
    }

    // Returns the bytes that each rank sends and receives per step after the last change. They follow from two
    // runs that differ only in their number of steps after this change.
    std::vector<double> measure_bytes_per_step(std::size_t width) {
        config_.model.width = width;
        double bytes = 0;
        for (const std::size_t steps : {long_steps, short_steps}) {
            config_.run.steps = steps;
            const MpiCounts counts = train("width-" + std::to_string(width) + "-" + std::to_string(steps));
            bytes = static_cast<double>(counts.sent_bytes + counts.received_bytes) - bytes;
        }
        return gather(-bytes / static_cast<double>(long_steps - short_steps));
    }
};

TEST_F(IdleRanks, ExchangeControlMessagesOnly) {
    const std::vector<double> narrow = measure_bytes_per_step(16);
    const std::vector<double> wide = measure_bytes_per_step(32);

    const std::vector<plan::Decision> made = decisions("width-32-" + std::to_string(long_steps));
    const std::vector<int>& idle = made.back().layout.idle;
    ASSERT_EQ(made.back().step, period);
    ASSERT_FALSE(idle.empty());
    for (int rank = 0; rank < session_.size(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        if (std::ranges::count(idle, rank) > 0) {
            EXPECT_LE(wide[r], max_control_bytes) << "rank " << rank;
            EXPECT_EQ(wide[r], narrow[r]) << "rank " << rank;
        } else if (idle.size() + 1 < narrow.size()) {  // the others exchange activations
            EXPECT_GT(narrow[r], 10 * max_control_bytes) << "rank " << rank;
            EXPECT_GT(wide[r], 1.9 * narrow[r] - max_control_bytes) << "rank " << rank;
        }
    }
}

}  // namespace
}  // namespace trireme::run
