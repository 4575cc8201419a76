#include <algorithm>

#include "policy/steps/team_fitter.hpp"
#include "trireme/policy/recompute.hpp"

namespace trireme::policy {
namespace {

// Searches the choices of all teams for those with the shortest step.
class ShortestStepSearch {
public:
    ShortestStepSearch(std::vector<TeamFitter>& teams,
                       const std::vector<std::vector<schedule::StageCost>>& costs,
                       const std::vector<bool>& empty_microbatches, schedule::StepClock& clock)
        : teams_(teams), costs_(costs), empty_microbatches_(empty_microbatches), clock_(clock) {}

    // True if all choices can be tried in a short time.
    bool is_small() const {
        constexpr double max_choices = 1 << 17;
        double choices = 1;
        for (const TeamFitter& team : teams_)
            for (std::size_t pass = 0; pass < team.count_passes(); ++pass)
                choices *= static_cast<double>(team.options(pass).size());
        return choices <= max_choices;
    }

    // Replaces the choices of the teams by better ones, if there are any.
    void improve() {
        best_seconds_ = predict_seconds(list_offload_times(teams_.size()));
        best_ = list_choices();
        for (TeamFitter& team : teams_) {
            team.permit_all_offload();
            for (std::size_t pass = 0; pass < team.count_passes(); ++pass) team.choose(pass, 0);
        }
        search(0, 0, {});
        for (std::size_t t = 0; t < teams_.size(); ++t) {
            teams_[t].choose_all(best_[t]);
            teams_[t].permit_needed_offload();
        }
    }

    // Chooses the fastest options with which the teams still fit. Keeps the choices of a team if other ones
    // need the place of its optimizer state so early that the step takes longer.
    void omit_needless_options() {
        double seconds = predict_seconds(list_offload_times(teams_.size()));
        for (TeamFitter& team : teams_) {
            const std::vector<std::size_t> choices = team.choices();
            team.omit_needless_options();
            if (team.choices() == choices) continue;
            const double new_seconds = predict_seconds(list_offload_times(teams_.size()));
            if (new_seconds > seconds) team.choose_all(choices);
            seconds = std::min(seconds, new_seconds);
        }
    }

    // Returns the time by which waits for optimizer state lengthen the step.
    double predict_offload_wait() {
        const std::vector<schedule::OffloadTimes> times = list_offload_times(teams_.size());
        return times.empty() ? 0 : predict_seconds(times) - predict_seconds();
    }

private:
    // Returns the waits of the first `count` teams for optimizer state, by index of the team; empty if none of
    // them waits.
    std::vector<schedule::OffloadTimes> list_offload_times(std::size_t count) const {
        std::vector<schedule::OffloadTimes> times;
        for (std::size_t t = 0; t < count; ++t) {
            const TeamFitter& team = teams_[t];
            schedule::OffloadTimes of_team = team.predict_offload_times();
            if (of_team.begins.empty() && of_team.returns.empty()) continue;
            times.resize(std::max(times.size(), static_cast<std::size_t>(team.team()) + 1));
            times[static_cast<std::size_t>(team.team())] = std::move(of_team);
        }
        return times;
    }

    std::vector<std::vector<std::size_t>> list_choices() const {
        std::vector<std::vector<std::size_t>> choices;
        for (const TeamFitter& team : teams_) choices.push_back(team.choices());
        return choices;
    }

    double predict_seconds(const std::vector<schedule::OffloadTimes>& offload = {}) {
        std::vector<std::vector<schedule::StageCost>> costs = costs_;
        for (const TeamFitter& team : teams_) {
            for (std::size_t pass = 0; pass < team.count_passes(); ++pass) {
                const schedule::StageCost& extra = team.options(pass)[team.choice(pass)].extra;
                const auto [stage, microbatch] = team.key(pass);
                schedule::StageCost& cost =
                    costs[static_cast<std::size_t>(stage)][static_cast<std::size_t>(microbatch)];
                cost.forward += extra.forward;
                cost.backward_input += extra.backward_input;
                cost.backward_weight += extra.backward_weight;
            }
        }
        return clock_.predict_seconds(schedule::StepCosts(std::move(costs), empty_microbatches_), offload);
    }

    // Tries all options of the passes from number `pass` of team `t` on, which have their first options now.
    // `offload` has the waits of the teams before.
    void search(std::size_t t, std::size_t pass, const std::vector<schedule::OffloadTimes>& offload) {
        TeamFitter& team = teams_[t];
        if (pass == team.count_passes()) {
            if (!team.fits()) return;
            const std::vector<schedule::OffloadTimes> with_team = list_offload_times(t + 1);
            if (t + 1 < teams_.size()) return search(t + 1, 0, with_team);
            const double seconds = predict_seconds(with_team);
            if (seconds >= best_seconds_) return;
            best_seconds_ = seconds;
            best_ = list_choices();
            return;
        }
        for (std::size_t option = 0; option < team.options(pass).size() && nodes_ < max_nodes; ++option) {
            ++nodes_;
            team.choose(pass, option);
            if (team.exceeds_limit_despite(pass + 1)) continue;
            if (predict_seconds(offload) >= best_seconds_) continue;
            search(t, pass + 1, offload);
        }
        team.choose(pass, 0);
    }

    static constexpr int max_nodes = 20'000;

    std::vector<TeamFitter>& teams_;
    const std::vector<std::vector<schedule::StageCost>>& costs_;
    const std::vector<bool>& empty_microbatches_;
    schedule::StepClock& clock_;
    int nodes_ = 0;
    double best_seconds_ = 0;
    std::vector<std::vector<std::size_t>> best_;  // [team][pass]
};

}  // namespace

std::optional<StepChoices> choose_recomputation(const std::vector<TeamOptions>& teams,
                                                const std::vector<std::vector<schedule::StageCost>>& costs,
                                                const std::vector<bool>& empty_microbatches,
                                                schedule::StepClock& clock) {
    std::vector<TeamFitter> fitters;
    for (const TeamOptions& team : teams) fitters.emplace_back(team, costs);
    if (!std::ranges::all_of(fitters, [](TeamFitter& fitter) { return fitter.fit(); })) return std::nullopt;
    ShortestStepSearch search(fitters, costs, empty_microbatches, clock);
    if (search.is_small()) search.improve();
    search.omit_needless_options();
    StepChoices choices{.teams = {}, .offload_wait = search.predict_offload_wait()};
    for (const TeamFitter& fitter : fitters) choices.teams.push_back(fitter.list_choices());
    return choices;
}

}  // namespace trireme::policy
