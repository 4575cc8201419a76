#include <algorithm>
#include <cmath>
#include <limits>

#include "trireme/policy/recompute.hpp"

namespace trireme::policy {
namespace {

// Finds the memory of a team for the options of its passes.
class TeamFitter {
public:
    explicit TeamFitter(const TeamOptions& team) : team_(team), ranks_(team.max_bytes.size()) {
        for (const auto& [key, options] : team.passes) {
            choices_.push_back(0);
            keys_.push_back(key);
            options_.push_back(&options);
        }
        for (const schedule::BufferUse& use : team.uses) {
            const PassKey key{use.taker.stage, use.taker.microbatch};
            const auto found =
                use.kind == schedule::BufferKind::rows ? keys_.end() : std::ranges::find(keys_, key);
            pass_of_use_.push_back(static_cast<std::size_t>(found - keys_.begin()));
            moments_ = std::max(moments_, use.end);
        }
    }

    std::size_t count_passes() const { return keys_.size(); }
    const PassKey& key(std::size_t pass) const { return keys_[pass]; }
    const std::vector<PassOption>& options(std::size_t pass) const { return *options_[pass]; }
    std::size_t choice(std::size_t pass) const { return choices_[pass]; }
    void choose(std::size_t pass, std::size_t option) { choices_[pass] = option; }
    double find_extra(std::size_t pass, std::size_t option) const {
        return options(pass)[option].extra.compute_pass_time();
    }

    PassChoices list_choices() const {
        PassChoices choices;
        for (std::size_t pass = 0; pass < keys_.size(); ++pass) choices[keys_[pass]] = choices_[pass];
        return choices;
    }

    // True if all ranks stay within their limits.
    bool fits() const {
        for (std::size_t rank = 0; rank < ranks_; ++rank)
            if (find_fullest_moment(rank).bytes > team_.max_bytes[rank]) return false;
        for (std::size_t rank = 0; rank < ranks_; ++rank)
            if (count_placed_bytes(rank) > team_.max_bytes[rank]) return false;
        return true;
    }

    // True if a rank exceeds its limit even if the passes from number `first` on used the fewest bytes of any
    // of their options.
    bool exceeds_limit_despite(std::size_t first) const {
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            const auto find_least = [&](std::size_t use) {
                const std::size_t pass = pass_of_use_[use];
                if (pass < first || pass == keys_.size()) return find_bytes(rank, use);
                std::size_t least = std::numeric_limits<std::size_t>::max();
                for (const PassOption& option : options(pass))
                    least = std::min(least, find_bytes(rank, use, option));
                return least;
            };
            if (find_fullest_moment(find_least).bytes > team_.max_bytes[rank]) return true;
        }
        return false;
    }

    // Chooses options until the team fits. Returns false if no further option helps.
    bool choose_until_fitting() {
        std::vector<std::size_t> targets = team_.max_bytes;
        for (std::size_t rank = 0; rank < ranks_;) {
            const Moment moment = find_fullest_moment(rank);
            if (moment.bytes > targets[rank]) {
                if (!choose_best_option(rank, moment, moment.bytes - targets[rank])) return false;
                rank = 0;
                continue;
            }
            // Gaps between buffers may need more bytes than the buffers at any moment.
            const std::size_t placed = count_placed_bytes(rank);
            if (placed > team_.max_bytes[rank]) {
                const std::size_t gaps = placed - team_.max_bytes[rank];
                if (targets[rank] < gaps || moment.bytes < gaps) return false;
                targets[rank] = std::min(targets[rank], moment.bytes) - gaps;
            } else {
                ++rank;
            }
        }
        return true;
    }

    // Chooses for every pass the fastest option with which the team still fits.
    void omit_needless_options() {
        std::vector<std::size_t> order;
        for (std::size_t pass = 0; pass < count_passes(); ++pass) order.push_back(pass);
        bool has_changed = true;
        while (has_changed) {
            has_changed = false;
            std::ranges::stable_sort(order, std::greater{},
                                     [&](std::size_t pass) { return find_extra(pass, choice(pass)); });
            for (const std::size_t pass : order) {
                const std::size_t slower = choice(pass);
                for (std::size_t option = 0; option < slower; ++option) {
                    choose(pass, option);
                    if (fits()) {
                        has_changed = true;
                        break;
                    }
                    choose(pass, slower);
                }
            }
        }
    }

private:
    struct Moment {
        std::size_t instruction = 0;  // index in the program
        std::size_t bytes = 0;
    };

    // Returns the bytes of a buffer, if its pass is executed by `option`.
    std::size_t find_bytes(std::size_t rank, std::size_t use, const PassOption& option) const {
        const schedule::BufferUse& buffer = team_.uses[use];
        const PassBytes& bytes = option.bytes[rank];
        return buffer.kind == schedule::BufferKind::stash
                   ? bytes.stash
                   : bytes.workspaces[static_cast<std::size_t>(buffer.taker.op)];
    }
    std::size_t find_bytes(std::size_t rank, std::size_t use) const {
        const std::size_t pass = pass_of_use_[use];
        if (pass == count_passes())
            return team_.row_bytes[rank][static_cast<std::size_t>(team_.uses[use].taker.microbatch)];
        return find_bytes(rank, use, options(pass)[choices_[pass]]);
    }

    template <class FindBytes>
    Moment find_fullest_moment(FindBytes&& find_use_bytes) const {
        std::vector<std::size_t> added(moments_ + 1);
        std::vector<std::size_t> removed(moments_ + 1);
        for (std::size_t use = 0; use < team_.uses.size(); ++use) {
            const std::size_t bytes = find_use_bytes(use);
            added[team_.uses[use].begin] += bytes;
            removed[team_.uses[use].end] += bytes;
        }
        Moment fullest;
        std::size_t bytes = 0;
        for (std::size_t instruction = 0; instruction <= moments_; ++instruction) {
            bytes += added[instruction];
            bytes -= removed[instruction];
            if (bytes > fullest.bytes) fullest = {.instruction = instruction, .bytes = bytes};
        }
        return fullest;
    }
    Moment find_fullest_moment(std::size_t rank) const {
        return find_fullest_moment([&](std::size_t use) { return find_bytes(rank, use); });
    }

    std::size_t count_placed_bytes(std::size_t rank) const {
        std::vector<std::size_t> bytes;
        for (std::size_t use = 0; use < team_.uses.size(); ++use) bytes.push_back(find_bytes(rank, use));
        return place_buffers(team_.uses, bytes).bytes;
    }

    // Changes the option of one pass. Chooses the option that adds the least time per byte by which it lowers
    // the excess of the moment. Returns false if no option lowers the excess.
    bool choose_best_option(std::size_t rank, const Moment& moment, std::size_t excess) {
        std::map<std::size_t, std::vector<std::size_t>> uses_of_passes;  // that are live at the moment
        for (std::size_t use = 0; use < team_.uses.size(); ++use) {
            const schedule::BufferUse& buffer = team_.uses[use];
            if (buffer.kind != schedule::BufferKind::rows && buffer.begin <= moment.instruction &&
                moment.instruction < buffer.end)
                uses_of_passes[pass_of_use_[use]].push_back(use);
        }
        std::size_t best_pass = count_passes();
        std::size_t best_option = 0;
        double best_price = std::numeric_limits<double>::infinity();
        for (const auto& [pass, uses] : uses_of_passes) {
            const auto count = [&](const PassOption& option) {
                std::size_t bytes = 0;
                for (const std::size_t use : uses) bytes += find_bytes(rank, use, option);
                return bytes;
            };
            const std::size_t bytes = count(options(pass)[choice(pass)]);
            for (std::size_t option = choice(pass) + 1; option < options(pass).size(); ++option) {
                const std::size_t fewer = count(options(pass)[option]);
                if (fewer >= bytes) continue;
                const double extra = find_extra(pass, option) - find_extra(pass, choice(pass));
                const double price = extra / static_cast<double>(std::min(bytes - fewer, excess));
                if (price >= best_price) continue;
                best_price = price;
                best_pass = pass;
                best_option = option;
            }
        }
        if (best_pass == count_passes()) return false;
        choose(best_pass, best_option);
        return true;
    }

    const TeamOptions& team_;
    std::size_t ranks_;
    std::size_t moments_ = 0;
    // Per pass, in the order of keys.
    std::vector<PassKey> keys_;
    std::vector<const std::vector<PassOption>*> options_;
    std::vector<std::size_t> choices_;
    std::vector<std::size_t> pass_of_use_;  // per use: index of the pass; the number of passes for rows
};

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
        best_seconds_ = predict_seconds();
        best_ = list_choices();
        for (TeamFitter& team : teams_)
            for (std::size_t pass = 0; pass < team.count_passes(); ++pass) team.choose(pass, 0);
        search(0, 0);
        for (std::size_t t = 0; t < teams_.size(); ++t)
            for (std::size_t pass = 0; pass < teams_[t].count_passes(); ++pass)
                teams_[t].choose(pass, best_[t][pass]);
    }

private:
    std::vector<std::vector<std::size_t>> list_choices() const {
        std::vector<std::vector<std::size_t>> choices;
        for (const TeamFitter& team : teams_) {
            choices.emplace_back();
            for (std::size_t pass = 0; pass < team.count_passes(); ++pass)
                choices.back().push_back(team.choice(pass));
        }
        return choices;
    }

    double predict_seconds() {
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
        return clock_.predict_seconds(schedule::StepCosts(std::move(costs), empty_microbatches_));
    }

    // Tries all options of the passes from `pass` of `team` on, which have their first options now.
    void search(std::size_t t, std::size_t pass) {
        TeamFitter& team = teams_[t];
        if (pass == team.count_passes()) {
            if (!team.fits()) return;
            if (t + 1 < teams_.size()) return search(t + 1, 0);
            const double seconds = predict_seconds();
            if (seconds >= best_seconds_) return;
            best_seconds_ = seconds;
            best_ = list_choices();
            return;
        }
        for (std::size_t option = 0; option < team.options(pass).size() && nodes_ < max_nodes; ++option) {
            ++nodes_;
            team.choose(pass, option);
            if (team.exceeds_limit_despite(pass + 1)) continue;
            if (predict_seconds() >= best_seconds_) continue;
            search(t, pass + 1);
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

// Returns the option with the smallest stash among those without a higher recomputation than `level`.
std::size_t find_smallest_stash(const std::vector<PassOption>& options, plan::Recompute level) {
    std::size_t smallest = 0;
    for (std::size_t option = 1; option < options.size(); ++option) {
        if (std::ranges::max(options[option].levels) > level) continue;
        if (options[option].bytes.front().stash < options[smallest].bytes.front().stash) smallest = option;
    }
    return smallest;
}

// Fits one team. If choosing one option after the other does not succeed, tries the options with the smallest
// stashes for all passes, without and with full recomputation, which needs a larger workspace.
bool fit_team(TeamFitter& team) {
    if (team.choose_until_fitting()) return true;
    for (const plan::Recompute level : {plan::Recompute::selective, plan::Recompute::full}) {
        for (std::size_t pass = 0; pass < team.count_passes(); ++pass)
            team.choose(pass, find_smallest_stash(team.options(pass), level));
        if (team.fits()) return true;
    }
    return false;
}

}  // namespace

std::optional<std::vector<PassChoices>> choose_recomputation(
    const std::vector<TeamOptions>& teams, const std::vector<std::vector<schedule::StageCost>>& costs,
    const std::vector<bool>& empty_microbatches, schedule::StepClock& clock) {
    std::vector<TeamFitter> fitters(teams.begin(), teams.end());
    if (!std::ranges::all_of(fitters, fit_team)) return std::nullopt;
    ShortestStepSearch search(fitters, costs, empty_microbatches, clock);
    if (search.is_small()) search.improve();
    for (TeamFitter& fitter : fitters) fitter.omit_needless_options();
    std::vector<PassChoices> choices;
    for (const TeamFitter& fitter : fitters) choices.push_back(fitter.list_choices());
    return choices;
}

}  // namespace trireme::policy
