#include "policy/steps/team_fitter.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "trireme/base/numbers.hpp"
#include "trireme/schedule/offload_times.hpp"

namespace trireme::policy {
namespace {

// Returns the option with the smallest stash among those without a higher recomputation than `level`.
std::size_t find_smallest_stash(const std::vector<PassOption>& options, plan::Recompute level) {
    std::size_t smallest = 0;
    for (std::size_t option = 1; option < options.size(); ++option) {
        if (std::ranges::max(options[option].levels) > level) continue;
        if (options[option].bytes.front().stash < options[smallest].bytes.front().stash) smallest = option;
    }
    return smallest;
}

double find_pass_time(const schedule::StageCost& cost, schedule::Op op) {
    switch (op) {
        case schedule::Op::forward:
            return cost.forward;
        case schedule::Op::backward_input:
            return cost.backward_input;
        case schedule::Op::backward_weight:
            return cost.backward_weight;
        default:
            return cost.backward_input + cost.backward_weight;
    }
}

}  // namespace

TeamFitter::TeamFitter(const TeamOptions& team, const std::vector<std::vector<schedule::StageCost>>& costs)
    : team_(team),
      costs_(costs),
      ranks_(team.max_bytes.size()),
      offloadable_bytes_(team.offloadable_bytes),
      permitted_bytes_(ranks_) {
    offloadable_bytes_.resize(ranks_);
    for (const auto& [key, options] : team.passes) {
        choices_.push_back(0);
        keys_.push_back(key);
        options_.push_back(&options);
    }
    for (const schedule::BufferUse& use : team.uses) {
        const PassKey key{use.taker.stage, use.taker.microbatch};
        const auto found = use.kind == schedule::BufferKind::rows ? keys_.end() : std::ranges::find(keys_, key);
        pass_of_use_.push_back(static_cast<std::size_t>(found - keys_.begin()));
        moments_ = std::max(moments_, use.end);
    }
}

PassChoices TeamFitter::list_choices() const {
    PassChoices choices;
    for (std::size_t pass = 0; pass < keys_.size(); ++pass) choices[keys_[pass]] = choices_[pass];
    return choices;
}

// Tries to offload several fractions of what the team needs without recomputation. Of those with which the team
// fits, the fastest is taken; the smaller one if two are equally fast.
bool TeamFitter::fit() {
    std::vector<std::size_t> needs;  // per rank: bytes beyond the limit that could be offloaded
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const std::size_t placed = count_placed_bytes(rank);
        needs.push_back(std::min(offloadable_bytes_[rank], placed - std::min(placed, team_.max_bytes[rank])));
    }
    constexpr std::size_t parts = 8;
    const bool may_offload = std::ranges::max(needs) > 0;
    double best_time = std::numeric_limits<double>::infinity();
    std::optional<std::pair<std::vector<std::size_t>, std::vector<std::size_t>>>
        best;  // choices, permitted bytes
    for (std::size_t part = 0; part <= (may_offload ? parts : 0); ++part) {
        const std::vector<std::size_t> previous = permitted_bytes_;
        for (std::size_t rank = 0; rank < ranks_; ++rank)
            permitted_bytes_[rank] = std::min(needs[rank], round_up_to_cache_lines(needs[rank] * part / parts));
        if (part > 0 && permitted_bytes_ == previous) continue;
        std::ranges::fill(choices_, 0);
        if (!fit_with_permitted_offload()) continue;
        if (may_offload) omit_needless_options();
        const double time = may_offload ? predict_time_alone() : 0;
        if (time >= best_time) continue;
        best_time = time;
        best = {choices_, permitted_bytes_};
    }
    if (!best) return false;
    std::tie(choices_, permitted_bytes_) = *best;
    return true;
}

void TeamFitter::permit_needed_offload() {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const std::size_t placed = count_placed_bytes(rank);
        permitted_bytes_[rank] = placed - std::min(placed, team_.max_bytes[rank]);
    }
}

bool TeamFitter::fits() const {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
        if (find_fullest_moment(rank).bytes > limit(rank)) return false;
    for (std::size_t rank = 0; rank < ranks_; ++rank)
        if (!can_place_buffers(team_.uses, list_bytes(rank), limit(rank))) return false;
    return true;
}

bool TeamFitter::exceeds_limit_despite(std::size_t first) const {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const auto find_least = [&](std::size_t use) {
            const std::size_t pass = pass_of_use_[use];
            if (pass < first || pass == keys_.size()) return find_bytes(rank, use);
            std::size_t least = std::numeric_limits<std::size_t>::max();
            for (const PassOption& option : options(pass))
                least = std::min(least, find_bytes(rank, use, option));
            return least;
        };
        if (find_fullest_moment(find_least).bytes > limit(rank)) return true;
    }
    return false;
}

schedule::OffloadTimes TeamFitter::predict_offload_times() const {
    schedule::OffloadTimes times;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        if (permitted_bytes_[rank] == 0) continue;
        const std::vector<std::size_t> bytes = list_bytes(rank);
        times.merge(schedule::predict_offload_times(team_.uses, bytes, place_buffers(team_.uses, bytes),
                                                    team_.max_bytes[rank], team_.offload_time_per_byte));
    }
    return times;
}

// Returns the time from the begin of the step to the update, if the team waits for no other team.
double TeamFitter::predict_time_alone() const {
    const schedule::OffloadTimes offload = predict_offload_times();
    double time = 0;
    double update = offload.update;
    for (std::size_t use = 0; use < team_.uses.size(); ++use) {
        const schedule::Instruction& pass = team_.uses[use].taker;
        if (team_.uses[use].kind != schedule::BufferKind::workspace) continue;
        const PassOption& option = options(pass_of_use_[use])[choices_[pass_of_use_[use]]];
        time = std::max(time, offload.find_begin(pass));
        time += find_pass_time(
                    costs_[static_cast<std::size_t>(pass.stage)][static_cast<std::size_t>(pass.microbatch)],
                    pass.op) +
                find_pass_time(option.extra, pass.op);
        update = std::max(update, time + offload.find_return(pass));
    }
    return update;
}

// Chooses one option after the other. If this does not succeed, tries the options with the smallest stashes for
// all passes, without and with full recomputation, which needs a larger workspace.
bool TeamFitter::fit_with_permitted_offload() {
    if (choose_until_fitting()) return true;
    for (const plan::Recompute level : {plan::Recompute::selective, plan::Recompute::full}) {
        for (std::size_t pass = 0; pass < count_passes(); ++pass)
            choose(pass, find_smallest_stash(options(pass), level));
        if (fits()) return true;
    }
    return false;
}

// Chooses options until the team fits. Returns false if no further option helps.
bool TeamFitter::choose_until_fitting() {
    std::vector<std::size_t> targets;
    for (std::size_t rank = 0; rank < ranks_; ++rank) targets.push_back(limit(rank));
    for (std::size_t rank = 0; rank < ranks_;) {
        const Moment moment = find_fullest_moment(rank);
        if (moment.bytes > targets[rank]) {
            if (!choose_best_option(rank, moment, moment.bytes - targets[rank])) return false;
            rank = 0;
            continue;
        }
        // Gaps between buffers may need more bytes than the buffers at any moment.
        const std::size_t placed = count_placed_bytes(rank);
        if (placed > limit(rank)) {
            const std::size_t gaps = placed - limit(rank);
            if (targets[rank] < gaps || moment.bytes < gaps) return false;
            targets[rank] = std::min(targets[rank], moment.bytes) - gaps;
        } else {
            ++rank;
        }
    }
    return true;
}

void TeamFitter::omit_needless_options() {
    std::vector<std::size_t> order;
    for (std::size_t pass = 0; pass < count_passes(); ++pass) order.push_back(pass);
    std::set<std::vector<std::size_t>> excessive_choices;  // with which the team does not fit
    const auto check_fit = [&] {
        if (excessive_choices.contains(choices_)) return false;
        if (fits()) return true;
        excessive_choices.insert(choices_);
        return false;
    };
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        std::ranges::stable_sort(order, std::greater{},
                                 [&](std::size_t pass) { return find_extra(pass, choice(pass)); });
        for (const std::size_t pass : order) {
            const std::size_t slower = choice(pass);
            for (std::size_t option = 0; option < slower; ++option) {
                choose(pass, option);
                if (check_fit()) {
                    has_changed = true;
                    break;
                }
                choose(pass, slower);
            }
        }
    }
}

// Returns the bytes of a buffer, if its pass is executed by `option`.
std::size_t TeamFitter::find_bytes(std::size_t rank, std::size_t use, const PassOption& option) const {
    const schedule::BufferUse& buffer = team_.uses[use];
    const PassBytes& bytes = option.bytes[rank];
    return buffer.kind == schedule::BufferKind::stash
               ? bytes.stash
               : bytes.workspaces[static_cast<std::size_t>(buffer.taker.op)];
}
std::size_t TeamFitter::find_bytes(std::size_t rank, std::size_t use) const {
    const std::size_t pass = pass_of_use_[use];
    if (pass == count_passes())
        return team_.row_bytes[rank][static_cast<std::size_t>(team_.uses[use].taker.microbatch)];
    return find_bytes(rank, use, options(pass)[choices_[pass]]);
}

std::vector<std::size_t> TeamFitter::list_bytes(std::size_t rank) const {
    std::vector<std::size_t> bytes;
    for (std::size_t use = 0; use < team_.uses.size(); ++use) bytes.push_back(find_bytes(rank, use));
    return bytes;
}

template <class FindBytes>
TeamFitter::Moment TeamFitter::find_fullest_moment(FindBytes&& find_use_bytes) const {
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
TeamFitter::Moment TeamFitter::find_fullest_moment(std::size_t rank) const {
    return find_fullest_moment([&](std::size_t use) { return find_bytes(rank, use); });
}

std::size_t TeamFitter::count_placed_bytes(std::size_t rank) const {
    return place_buffers(team_.uses, list_bytes(rank)).bytes;
}

// Changes the option of one pass. Chooses the option that adds the least time per byte by which it lowers
// the excess of the moment. Returns false if no option lowers the excess.
bool TeamFitter::choose_best_option(std::size_t rank, const Moment& moment, std::size_t excess) {
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

}  // namespace trireme::policy
