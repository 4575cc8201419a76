#include "trireme/policy/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>

#include "trireme/schedule/clocks.hpp"

namespace trireme::policy {
namespace {

// Consecutive passes of a program at one clock.
struct PassRun {
    std::vector<schedule::Instruction> passes = {};
    int mhz = 0;
};

std::vector<PassRun> list_runs(const schedule::Program& program) {
    std::vector<PassRun> runs;
    int mhz = 0;
    for (const schedule::Instruction& instruction : program) {
        if (instruction.op == schedule::Op::set_clock) mhz = instruction.mhz;
        if (!is_compute(instruction.op)) continue;
        if (runs.empty() || runs.back().mhz != mhz) runs.push_back({.mhz = mhz});
        runs.back().passes.push_back(instruction);
    }
    return runs;
}

// Joins run `index` and the next one.
void join_with_next(std::vector<PassRun>& runs, std::size_t index) {
    const auto next = runs.begin() + static_cast<std::ptrdiff_t>(index) + 1;
    runs[index].passes.insert(runs[index].passes.end(), next->passes.begin(), next->passes.end());
    runs[index].mhz = std::max(runs[index].mhz, next->mhz);
    runs.erase(next);
}

// Returns the index of the first run of the two that join if run `index` is too short: it joins the neighbour
// whose clock is nearest, or the next one if both are equally near.
std::size_t choose_joined_runs(const std::vector<PassRun>& runs, std::size_t index) {
    if (index == 0) return index;
    if (index + 1 == runs.size()) return index - 1;
    const int mhz = runs[index].mhz;
    return std::abs(runs[index + 1].mhz - mhz) <= std::abs(runs[index - 1].mhz - mhz) ? index : index - 1;
}

// Joins neighbours with equal clocks.
void join_equal_runs(std::vector<PassRun>& runs) {
    for (std::size_t i = 1; i < runs.size();) {
        if (runs[i - 1].mhz == runs[i].mhz)
            join_with_next(runs, i - 1);
        else
            ++i;
    }
}

}  // namespace

std::vector<int> list_candidate_clocks(const std::vector<int>& mhz) {
    constexpr int distance = 90;  // MHz
    std::vector<int> candidates;
    for (int wanted = mhz.front(); wanted >= mhz.back(); wanted -= distance) {
        const int nearest =
            *std::ranges::min_element(mhz, {}, [&](int each) { return std::abs(each - wanted); });
        if (candidates.empty() || candidates.back() != nearest) candidates.push_back(nearest);
    }
    return candidates;
}

std::vector<std::size_t> find_best_clocks(const std::vector<std::vector<double>>& joules) {
    std::vector<std::size_t> best(joules.front().size());
    for (std::size_t candidate = 1; candidate < joules.size(); ++candidate)
        for (std::size_t device = 0; device < best.size(); ++device)
            if (joules[candidate][device] < joules[best[device]][device]) best[device] = candidate;
    return best;
}

std::vector<schedule::Instruction> list_envelope(const schedule::Program& program, bool is_last_stage) {
    std::vector<schedule::Instruction> passes;
    for (const schedule::Instruction& each : program)
        if (is_compute(each.op)) passes.push_back(each);
    if (is_last_stage || passes.empty()) return passes;
    return {passes.front(), passes.back()};
}

std::vector<int> compute_extra_forwards(const std::vector<WarmUpFacts>& stages) {
    constexpr double rounding = 1e-9;  // a ratio that is a whole number may be slightly below it
    std::vector<int> extra;
    for (const auto& [backward_seconds, forward_seconds, max_extra] : stages) {
        const auto later_stages = static_cast<double>(stages.size() - 1 - extra.size());
        const double wanted = std::floor(backward_seconds * later_stages / forward_seconds + rounding);
        const int most = extra.empty() ? max_extra : std::min(max_extra, extra.back());
        extra.push_back(std::max(0, wanted < most ? static_cast<int>(wanted) : most));
    }
    extra.back() = 0;
    return extra;
}

schedule::Program join_short_runs(const schedule::Program& program, double min_seconds,
                                  const PassSeconds& find_seconds) {
    std::vector<PassRun> runs = list_runs(program);
    const auto is_short = [&](const PassRun& run) {
        double seconds = 0;
        for (const schedule::Instruction& pass : run.passes) seconds += find_seconds(pass, run.mhz);
        return seconds < min_seconds;
    };
    while (runs.size() > 1) {
        const auto run = std::ranges::find_if(runs, is_short);
        if (run == runs.end()) break;
        join_with_next(runs, choose_joined_runs(runs, static_cast<std::size_t>(run - runs.begin())));
        join_equal_runs(runs);
    }
    std::map<schedule::Instruction, int> clocks;
    for (const PassRun& run : runs)
        for (const schedule::Instruction& pass : run.passes) clocks[pass] = run.mhz;
    const auto find_mhz = [&](int /*team*/, const schedule::Instruction& pass) { return clocks.at(pass); };
    return schedule::set_clocks({.prologue = {}, .body = {program}}, find_mhz).body.front();
}

}  // namespace trireme::policy
