#include "trireme/policy/reconfigure.hpp"

#include <algorithm>

namespace trireme::policy {
namespace {

// Finds passes by stage and micro-batch.
class PassTable {
public:
    PassTable(const schedule::PipelineShape& shape, const std::vector<ClockedTeam>& teams)
        : shape_(shape),
          positions_(2 * static_cast<std::size_t>(shape.stages()) *
                     static_cast<std::size_t>(shape.microbatches)) {
        for (std::size_t team = 0; team < teams.size(); ++team)
            for (std::size_t pass = 0; pass < teams[team].passes.size(); ++pass)
                positions_[find_index(teams[team].passes[pass])] = {team, pass};
    }

    // Returns the pass of another stage that computes the input of `pass`; nothing if there is none.
    std::optional<PassOfTeam> find_producer(schedule::Instruction pass) const {
        pass.stage += pass.op == schedule::Op::forward ? -1 : 1;
        if (pass.stage < 0 || pass.stage == shape_.stages()) return std::nullopt;
        return positions_[find_index(pass)];
    }

private:
    std::size_t find_index(const schedule::Instruction& pass) const {
        const std::size_t microbatch =
            static_cast<std::size_t>(pass.stage) * static_cast<std::size_t>(shape_.microbatches) +
            static_cast<std::size_t>(pass.microbatch);
        return 2 * microbatch + (pass.op == schedule::Op::forward ? 0 : 1);
    }

    const schedule::PipelineShape& shape_;
    std::vector<PassOfTeam> positions_;
};

// Returns the waits of each group, as the mean over its teams. The entry of a group is that of its number.
std::vector<std::vector<double>> average_waits(const std::vector<ClockedTeam>& teams,
                                               const std::vector<plan::MeasuredPasses>& times) {
    std::vector<std::vector<double>> means(teams.size());
    std::vector<double> sizes(teams.size());
    for (std::size_t team = 0; team < teams.size(); ++team) {
        std::vector<double>& sums = means[teams[team].group];
        sums.resize(times[team].waits.size());
        for (std::size_t pass = 0; pass < sums.size(); ++pass) sums[pass] += times[team].waits[pass];
        sizes[teams[team].group] += 1;
    }
    for (std::size_t group = 0; group < means.size(); ++group)
        for (double& mean : means[group]) mean /= sizes[group];
    return means;
}

// Returns the team of the first trained stage whose last pass ends last.
std::size_t find_last_team(const schedule::PipelineShape& shape,
                           const std::vector<plan::MeasuredPasses>& times) {
    const std::vector<int>& teams = shape.holders[static_cast<std::size_t>(shape.first_trained_stage)];
    const auto last = std::ranges::max_element(
        teams, {}, [&](int team) { return times[static_cast<std::size_t>(team)].end; });
    return static_cast<std::size_t>(*last);
}

bool can_be_raised(const PassOfTeam& each, const std::vector<ClockedTeam>& teams) {
    return teams[each.team].mhz[each.pass] < teams[each.team].clocks.front();
}

// Returns the passes of the path whose clocks `rule` raises.
std::vector<PassOfTeam> choose_passes(RaiseRule rule, const std::vector<PassOfTeam>& path,
                                      const std::vector<ClockedTeam>& teams) {
    std::vector<PassOfTeam> chosen;
    for (const PassOfTeam& each : path)
        if (can_be_raised(each, teams)) chosen.push_back(each);
    if (chosen.empty()) return chosen;
    if (rule == RaiseRule::greedy) {
        chosen.resize(1);
        return chosen;
    }
    const auto find_mhz = [&](const PassOfTeam& each) { return teams[each.team].mhz[each.pass]; };
    const int lowest = find_mhz(*std::ranges::min_element(chosen, {}, find_mhz));
    std::erase_if(chosen, [&](const PassOfTeam& each) { return find_mhz(each) != lowest; });
    return chosen;
}

// Returns the lowest of `clocks` that is at least `mhz`, or else the highest one.
int round_up(int mhz, const std::vector<int>& clocks) {
    int rounded = clocks.front();
    for (const int clock : clocks)
        if (clock >= mhz) rounded = clock;
    return rounded;
}

}  // namespace

std::vector<plan::MeasuredPasses> list_waits(const schedule::Prediction& prediction,
                                             const std::vector<ClockedTeam>& teams) {
    std::vector<plan::MeasuredPasses> all;
    for (std::size_t team = 0; team < teams.size(); ++team) {
        plan::MeasuredPasses& times = all.emplace_back();
        auto span = prediction.spans[team].begin();
        for (const schedule::Instruction& pass : teams[team].passes) {
            times.waits.push_back(0);
            if (span == prediction.spans[team].end() || span->instruction != pass) continue;
            times.waits.back() = std::max(0.0, span->input_arrival - times.end);
            times.end = span->end;
            ++span;
        }
    }
    return all;
}

std::vector<PassOfTeam> find_critical_path(const schedule::PipelineShape& shape,
                                           const std::vector<ClockedTeam>& teams,
                                           const std::vector<plan::MeasuredPasses>& times, double threshold) {
    const PassTable passes(shape, teams);
    const std::vector<std::vector<double>> mean_waits = average_waits(teams, times);
    const std::size_t last_team = find_last_team(shape, times);
    std::vector<PassOfTeam> path{{last_team, teams[last_team].passes.size() - 1}};
    while (true) {
        const auto [team, pass] = path.back();
        const std::optional<PassOfTeam> producer = passes.find_producer(teams[team].passes[pass]);
        const bool waited = mean_waits[teams[team].group][pass] > threshold;
        if (producer && (waited || pass == 0))
            path.push_back(*producer);
        else if (pass > 0)
            path.push_back({team, pass - 1});
        else
            return path;
    }
}

std::optional<int> raise_clocks(RaiseRule rule, const std::vector<PassOfTeam>& path,
                                std::vector<ClockedTeam>& teams) {
    const int distance = rule == RaiseRule::greedy ? 90 : 30;  // MHz
    const std::vector<PassOfTeam> chosen = choose_passes(rule, path, teams);
    if (chosen.empty()) return std::nullopt;
    const int replaced = teams[chosen.front().team].mhz[chosen.front().pass];
    for (const auto& [team, pass] : chosen) {
        const int mhz = round_up(replaced + distance, teams[team].clocks);
        for (ClockedTeam& other : teams)
            if (other.group == teams[team].group) other.mhz[pass] = std::max(other.mhz[pass], mhz);
    }
    return replaced;
}

}  // namespace trireme::policy
