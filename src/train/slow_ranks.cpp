#include "train/slow_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

std::string steps_of(const SlowRank& slow) {
    if (slow.last_step == slow.first_step) return fmt::format(" in step {}", slow.first_step);
    if (slow.last_step) return fmt::format(" in steps {} to {}", slow.first_step, *slow.last_step);
    return slow.first_step == 1 ? "" : fmt::format(" from step {} on", slow.first_step);
}

}  // namespace

void check_slow_ranks(const std::vector<SlowRank>& slow, int ranks, std::size_t steps) {
    for (const SlowRank& each : slow) {
        if (each.rank >= ranks) {
            throw ConfigError(cat("--slow names rank ", each.rank, ", and the job has ranks 0 to ", ranks - 1,
                                  "; name one of these"));
        }
        if (each.first_step > steps) {
            throw ConfigError(cat("--slow of rank ", each.rank, " begins in step ", each.first_step,
                                  ", behind the last of ", steps, " steps; name earlier ones"));
        }
    }
}

double slowness_in(const std::vector<SlowRank>& slow, int rank, std::size_t step) {
    double factor = 1;
    for (const SlowRank& each : slow) {
        const bool is_over = each.last_step && *each.last_step < step;
        if (each.rank == rank && each.first_step <= step && !is_over) factor *= each.factor;
    }
    return factor;
}

bool changes_slowness(const std::vector<SlowRank>& slow, std::size_t step) {
    return std::any_of(slow.begin(), slow.end(), [&](const SlowRank& each) {
        return each.first_step == step || (each.last_step && *each.last_step + 1 == step);
    });
}

std::string words_of(const std::vector<SlowRank>& slow) {
    std::string words;
    for (const SlowRank& each : slow) {
        words += fmt::format("{}rank {} takes {} times as long{}", words.empty() ? "" : "; ", each.rank,
                             each.factor, steps_of(each));
    }
    return words;
}

}  // namespace trireme
