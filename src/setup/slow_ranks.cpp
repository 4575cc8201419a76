#include "trireme/setup/slow_ranks.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/random.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::setup {
namespace {

// The rank that an entry of --slow slows in a step, and the factor by which the rank's kernels take longer.
struct SlowedRank {
    int rank = 0;
    double factor = 1;

    friend bool operator==(const SlowedRank&, const SlowedRank&) = default;
};

// Returns the index, from 0, of the period of a step. In each period the entry selects a rank anew. A period
// lasts `every` steps, or an epoch if `every` is unset. A step belongs to the epoch of its first sample.
std::size_t find_period(const config::SlowRank& entry, const SlowSchedule& schedule, std::size_t step) {
    return entry.every ? (step - 1) / *entry.every : (step - 1) * schedule.batch / schedule.samples;
}

SlowedRank draw_slowed_rank(const config::SlowRank& entry, RandomKey key, int ranks, std::size_t period) {
    const RandomBlock random = random_block(key, period);
    const double factor_range = entry.highest_factor.value_or(entry.factor) - entry.factor;
    return {.rank = static_cast<int>(to_unit_interval(random[0]) * ranks),
            .factor = entry.factor + factor_range * to_unit_interval(random[1])};
}

// Returns the rank that entry `index` slows in a step; empty if it slows none. The entry must not be a trace.
std::optional<SlowedRank> find_slowed_rank(const SlowRun& run, std::size_t index, std::size_t step) {
    const config::SlowRank& entry = run.entries[index];
    if (step < entry.first_step || (entry.last_step && *entry.last_step < step)) return std::nullopt;
    const std::size_t period = find_period(entry, run.schedule, step);
    switch (entry.choice) {
        case config::SlowChoice::named:
            return SlowedRank{.rank = entry.rank, .factor = entry.factor};
        case config::SlowChoice::turn:
            return SlowedRank{.rank = static_cast<int>(period % static_cast<std::size_t>(run.schedule.ranks)),
                              .factor = entry.factor};
        case config::SlowChoice::random:
            // The index in the random key lets equal entries draw different ranks.
            return draw_slowed_rank(entry, RandomKey{run.schedule.seed}.then("slow ranks").then(index),
                                    run.schedule.ranks, period);
        case config::SlowChoice::trace:
            break;
    }
    throw BugError("a trace names ranks of its own");
}

// Returns the name of an entry for messages, in the syntax of the option, e.g. "rank=1".
std::string to_string(const config::SlowRank& entry) {
    switch (entry.choice) {
        case config::SlowChoice::named:
            return cat("rank=", entry.rank);
        case config::SlowChoice::turn:
            return "rank=turn";
        case config::SlowChoice::random:
            return "rank=random";
        case config::SlowChoice::trace:
            return cat("trace=", entry.trace);
    }
    throw BugError("unknown choice of slow ranks");
}

void check_steps(const config::SlowRank& entry, std::size_t first_step, std::size_t steps) {
    if (first_step <= steps) return;
    throw ConfigError(cat("--slow ", to_string(entry), " begins in step ", first_step,
                          ", but the run has only ", format_count(steps, "step"), "; name an earlier step"));
}

void check_rank(const config::SlowRank& entry, int ranks) {
    if (entry.choice != config::SlowChoice::named || entry.rank < ranks) return;
    throw ConfigError(cat("--slow names rank ", entry.rank, ", but the job has ranks 0 to ", ranks - 1,
                          "; name one of these"));
}

std::string describe_steps(const config::SlowRank& entry) {
    if (entry.last_step == entry.first_step) return fmt::format(" in step {}", entry.first_step);
    if (entry.last_step) return fmt::format(" in steps {} to {}", entry.first_step, *entry.last_step);
    return entry.first_step == 1 ? "" : fmt::format(" from step {} on", entry.first_step);
}

std::string describe_subject(const config::SlowRank& entry) {
    if (entry.choice == config::SlowChoice::named) return fmt::format("rank {}", entry.rank);
    const std::string steps = entry.every ? format_count(*entry.every, "step") : "";
    if (entry.choice == config::SlowChoice::turn)
        return fmt::format("each rank in turn ({} each)", entry.every ? steps : "an epoch");
    return fmt::format("a random rank, redrawn every {},", !entry.every        ? "epoch"
                                                           : *entry.every == 1 ? "step"
                                                                               : steps);
}

std::string describe(const config::SlowRank& entry) {
    if (entry.choice == config::SlowChoice::trace)
        return fmt::format("ranks are slowed as {} says", entry.trace);
    const bool slows_all_kernels = entry.kernels == config::SlowKernels::all;
    const std::string range = entry.highest_factor ? fmt::format(" to {}", *entry.highest_factor) : "";
    return fmt::format("{}{} {} {}{} times as long{}", slows_all_kernels ? "" : "matmuls of ",
                       describe_subject(entry), slows_all_kernels ? "takes" : "take", entry.factor, range,
                       describe_steps(entry));
}

}  // namespace

SlowRun read_slow_run(std::vector<config::SlowRank> entries, const SlowSchedule& schedule) {
    SlowRun run{.entries = std::move(entries), .schedule = schedule};
    for (const config::SlowRank& entry : run.entries) {
        check_rank(entry, schedule.ranks);
        check_steps(entry, entry.first_step, schedule.steps);
        if (entry.choice != config::SlowChoice::trace || run.traces.contains(entry.trace)) continue;
        SlowTrace trace =
            parse_slow_trace(read_regular_file(entry.trace, "--slow trace"), entry.trace, schedule.ranks);
        if (!trace.change_steps.empty()) check_steps(entry, *trace.change_steps.begin(), schedule.steps);
        run.traces.emplace(entry.trace, std::move(trace));
    }
    return run;
}

device::SlowFactors find_slowness(const SlowRun& run, int rank, std::size_t step) {
    device::SlowFactors factors;
    for (std::size_t index = 0; index < run.entries.size(); ++index) {
        const config::SlowRank& entry = run.entries[index];
        if (entry.choice == config::SlowChoice::trace) {
            const device::SlowFactors trace_factors = find_slowness(run.traces.at(entry.trace), rank, step);
            factors.all *= trace_factors.all;
            factors.matmuls *= trace_factors.matmuls;
        } else if (const auto slowed = find_slowed_rank(run, index, step); slowed && slowed->rank == rank) {
            (entry.kernels == config::SlowKernels::all ? factors.all : factors.matmuls) *= slowed->factor;
        }
    }
    return factors;
}

bool has_slowness_change(const SlowRun& run, std::size_t step) {
    for (std::size_t index = 0; index < run.entries.size(); ++index) {
        const config::SlowRank& entry = run.entries[index];
        if (entry.choice == config::SlowChoice::trace) {
            if (run.traces.at(entry.trace).change_steps.contains(step)) return true;
            continue;
        }
        const auto previous = step > 1 ? find_slowed_rank(run, index, step - 1) : std::nullopt;
        if (find_slowed_rank(run, index, step) != previous) return true;
    }
    return false;
}

std::string describe(const std::vector<config::SlowRank>& entries) {
    std::string text;
    for (const config::SlowRank& entry : entries) text += (text.empty() ? "" : "; ") + describe(entry);
    return text;
}

}  // namespace trireme::setup
