// A run that changes its layout and its frozen blocks many times frees the communicators and the shared memory
// of layouts that it has left.
#include <algorithm>
#include <array>
#include <fstream>
#include <span>

#include "ranks/freed/trained_run.hpp"
#include "ranks/mover/random_layouts.hpp"

namespace trireme::run {
namespace {

using validation::MpiCounts;

constexpr std::size_t changes = 24;

class ManyChanges : public validation::TrainedRun {
protected:
    ManyChanges() {
        config_.model.layers = 4;
        config_.model.width = 16;
        config_.layout.data = session_.size();
        config_.schedule.microbatches = 2;
        config_.run.batch = 8;
        config_.run.steps = changes + 1;
        config_.policy.decisions = folder_ / "decisions.jsonl";
        if (session_.rank() == 0) write_decisions();
    }

    // Writes a decision after each step. They repeat six layouts, most of which have idle ranks, while blocks
    // freeze and thaw.
    void write_decisions() const {
        constexpr std::array depths{0, 2, 3, 2, 1, 0};
        std::ofstream file(config_.policy.decisions);
        for (std::size_t step = 1; step <= changes; ++step) {
            const std::size_t number = step % depths.size();
            file << to_json(plan::Decision{.step = step,
                                           .layout = validation::make_random_layout(
                                               number, {.ranks = static_cast<std::size_t>(session_.size()),
                                                        .layers = 11,
                                                        .max_shares = 2,
                                                        .max_replicas = 3}),
                                           .microbatches = 4,
                                           .frozen = depths[number]})
                 << '\n';
        }
    }

    // Each half of the run has two of the four rounds of the layouts. A run keeps the groups of its last
    // layouts, so that the maximum of a half does not depend on the earlier rounds.
    static void expect_no_growth(std::span<const int> history, const char* of) {
        ASSERT_GE(history.size(), 8U) << of;
        const std::span<const int> first = history.first(history.size() / 2);
        const std::span<const int> second = history.subspan(history.size() / 2);
        EXPECT_LE(*std::ranges::max_element(second), *std::ranges::max_element(first)) << of;
    }
};

TEST_F(ManyChanges, KeepNoHandlesAndNoSharedFiles) {
    for (const config::MoveMethod move : {config::MoveMethod::stop, config::MoveMethod::twins}) {
        const std::string name = move == config::MoveMethod::stop ? "stop" : "twins";
        SCOPED_TRACE(name);
        config_.policy.move = move;

        const MpiCounts counts = train(name);

        EXPECT_EQ(decisions(name).size(), changes);
        expect_no_growth(counts.live_handles, "handles");
        expect_no_growth(counts.shared_files, "files");
    }
}

}  // namespace
}  // namespace trireme::run
