#include "trireme/setup/slow_ranks.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/random.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::setup {
namespace {

// The rank that an entry slows in a step, and its factor.
struct Slowed {
    int rank = 0;
    double factor = 1;

    friend bool operator==(const Slowed&, const Slowed&) = default;
};

// Returns the index, from 0, of the period that a step belongs to. A step belongs to the epoch of its first
// sample, as in the sampler.
std::size_t period_of(const config::SlowRank& slow, const SlowTurns& turns, std::size_t step) {
    return slow.every ? (step - 1) / *slow.every : (step - 1) * turns.batch / turns.samples;
}

Slowed drawn(const config::SlowRank& slow, RandomKey key, int ranks, std::size_t period) {
    const RandomBlock words = random_block(key, period);
    const double span = slow.highest_factor.value_or(slow.factor) - slow.factor;
    return {.rank = static_cast<int>(unit_interval(words[0]) * ranks),
            .factor = slow.factor + span * unit_interval(words[1])};
}

// Returns the rank that entry `entry` slows in a step, if any. Must not be called for traces.
std::optional<Slowed> slowed_by(const SlowRun& run, std::size_t entry, std::size_t step) {
    const config::SlowRank& slow = run.slow[entry];
    if (step < slow.first_step || (slow.last_step && *slow.last_step < step)) return std::nullopt;
    const std::size_t period = period_of(slow, run.turns, step);
    switch (slow.choice) {
        case config::SlowChoice::named:
            return Slowed{.rank = slow.rank, .factor = slow.factor};
        case config::SlowChoice::turn:
            return Slowed{.rank = static_cast<int>(period % static_cast<std::size_t>(run.turns.ranks)),
                          .factor = slow.factor};
        case config::SlowChoice::random:
            // Equal entries draw different ranks.
            return drawn(slow, RandomKey{run.turns.seed}.then("slow ranks").then(entry), run.turns.ranks,
                         period);
        case config::SlowChoice::trace:
            break;
    }
    throw BugError("a trace names ranks of its own");
}

// Returns the name for messages, e.g. "rank 1".
std::string name_of(const config::SlowRank& slow) {
    switch (slow.choice) {
        case config::SlowChoice::named:
            return cat("rank ", slow.rank);
        case config::SlowChoice::turn:
            return "rank=turn";
        case config::SlowChoice::random:
            return "rank=random";
        case config::SlowChoice::trace:
            return cat("trace=", slow.trace);
    }
    throw BugError("unknown choice of slow ranks");
}

void check_steps(const config::SlowRank& slow, std::size_t first, std::size_t steps) {
    if (first <= steps) return;
    throw ConfigError(cat("--slow of ", name_of(slow), " begins in step ", first, ", after the last of ", steps,
                          " steps; name earlier ones"));
}

void check_rank(const config::SlowRank& slow, int ranks) {
    if (slow.choice != config::SlowChoice::named || slow.rank < ranks) return;
    throw ConfigError(cat("--slow names rank ", slow.rank, ", and the job has ranks 0 to ", ranks - 1,
                          "; name one of these"));
}

std::string steps_of(const config::SlowRank& slow) {
    if (slow.last_step == slow.first_step) return fmt::format(" in step {}", slow.first_step);
    if (slow.last_step) return fmt::format(" in steps {} to {}", slow.first_step, *slow.last_step);
    return slow.first_step == 1 ? "" : fmt::format(" from step {} on", slow.first_step);
}

std::string period_words(const config::SlowRank& slow) {
    if (!slow.every) return "an epoch";
    return fmt::format("{} step{}", *slow.every, *slow.every == 1 ? "" : "s");
}

std::string subject_of(const config::SlowRank& slow) {
    if (slow.choice == config::SlowChoice::named) return fmt::format("rank {}", slow.rank);
    const std::string period = period_words(slow);
    if (slow.choice == config::SlowChoice::turn) return fmt::format("each rank in turn ({} each)", period);
    return fmt::format("a rank drawn anew for {}", period);
}

std::string words_of(const config::SlowRank& slow) {
    if (slow.choice == config::SlowChoice::trace)
        return fmt::format("ranks take as long as {} says", slow.trace);
    const bool is_of_all = slow.on == config::SlowKernels::all;
    const std::string range = slow.highest_factor ? fmt::format(" to {}", *slow.highest_factor) : "";
    return fmt::format("{}{} {} {}{} times as long{}", is_of_all ? "" : "matrix products of ", subject_of(slow),
                       is_of_all ? "takes" : "take", slow.factor, range, steps_of(slow));
}

}  // namespace

SlowRun slow_run(std::vector<config::SlowRank> slow, const SlowTurns& turns) {
    SlowRun run{.slow = std::move(slow), .turns = turns};
    for (const config::SlowRank& each : run.slow) {
        check_rank(each, turns.ranks);
        check_steps(each, each.first_step, turns.steps);
        if (each.choice != config::SlowChoice::trace || run.traces.contains(each.trace)) continue;
        SlowTrace trace =
            slow_trace_from_csv(read_regular_file(each.trace, "--slow trace"), each.trace, turns.ranks);
        if (!trace.changes.empty()) check_steps(each, *trace.changes.begin(), turns.steps);
        run.traces.emplace(each.trace, std::move(trace));
    }
    return run;
}

device::SlowFactors slowness_in(const SlowRun& run, int rank, std::size_t step) {
    device::SlowFactors factors;
    for (std::size_t entry = 0; entry < run.slow.size(); ++entry) {
        const config::SlowRank& each = run.slow[entry];
        if (each.choice == config::SlowChoice::trace) {
            const device::SlowFactors traced = slowness_in(run.traces.at(each.trace), rank, step);
            factors.all *= traced.all;
            factors.products *= traced.products;
        } else if (const auto slowed = slowed_by(run, entry, step); slowed && slowed->rank == rank) {
            (each.on == config::SlowKernels::all ? factors.all : factors.products) *= slowed->factor;
        }
    }
    return factors;
}

bool changes_slowness(const SlowRun& run, std::size_t step) {
    for (std::size_t entry = 0; entry < run.slow.size(); ++entry) {
        const config::SlowRank& each = run.slow[entry];
        if (each.choice == config::SlowChoice::trace) {
            if (run.traces.at(each.trace).changes.contains(step)) return true;
            continue;
        }
        const auto before = step > 1 ? slowed_by(run, entry, step - 1) : std::nullopt;
        if (slowed_by(run, entry, step) != before) return true;
    }
    return false;
}

std::string words_of(const std::vector<config::SlowRank>& slow) {
    std::string words;
    for (const config::SlowRank& each : slow) words += (words.empty() ? "" : "; ") + words_of(each);
    return words;
}

}  // namespace trireme::setup
