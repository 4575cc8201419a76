#include "trireme/policy/sharing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace trireme::policy {
namespace {

// A slow rank may release (offload or skip) at most this fraction of its matmuls. The rank keeps a small
// fraction of each matmul.
constexpr double max_released_fraction = 0.98;
constexpr double negligible_fraction = 1e-6;  // of a rank's matmuls: smaller fractions count as 0

double compute_sum(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

// The matmuls that slow ranks offload to helper ranks, and the cost of offloading them.
struct OffloadMethod {
    layout::MatmulFractions is_offloaded = {};  // 1 or 0 per matmul
    double work_fraction = 0;    // work of the offloaded matmuls, as a fraction of all matmul work
    double message_seconds = 0;  // per step: upper bound of the time that messages add

    bool offloads_any_matmul() const { return work_fraction > 0; }
    bool offloads_all_matmuls() const {
        return std::ranges::all_of(is_offloaded, [](double each) { return each > 0; });
    }
};

// Returns the method that offloads the matmuls with an `is_offloaded` of 1, in a team of `ranks` ranks.
OffloadMethod make_method(const layout::MatmulFractions& is_offloaded, const OffloadCosts& costs,
                          std::size_t ranks) {
    OffloadMethod method{.is_offloaded = is_offloaded};
    const layout::BroadcastTree tree{.ranks = std::vector<int>(ranks), .spread = costs.spread};
    for (std::size_t m = 0; m < layout::block_matmul_count; ++m) {
        method.work_fraction += is_offloaded[m] * costs.work[m];
        method.message_seconds +=
            is_offloaded[m] * (tree.count_rounds() * costs.round_seconds[m] + costs.weight_seconds[m]);
    }
    return method;
}

// Values of OffloadMethod::is_offloaded, in the order of layout::Matmul. The matmuls attention_in and mlp_in
// read inputs that all ranks have. If one of these two is offloaded, its output gradients are broadcast and its
// partial outputs are reduced, in rounds of messages. The other two matmuls need no rounds.
constexpr layout::MatmulFractions all_matmuls{1, 1, 1, 1};
constexpr layout::MatmulFractions matmuls_without_rounds{0, 1, 0, 1};

// A team with slow ranks and a method of offloading. Work is measured in FLOPs of matmuls per step, which do
// not depend on the speed of a rank.
class SlowTeam {
public:
    SlowTeam(const std::vector<plan::RankTimes>& times, const std::vector<double>& slowness,
             double max_skipped_fraction, OffloadMethod method)
        : times_(times), slowness_(slowness), max_skipped_fraction_(max_skipped_fraction), method_(method) {}

    std::size_t size() const { return times_.size(); }
    const OffloadMethod& method() const { return method_; }
    bool is_slow(std::size_t rank) const {
        return slowness_[rank] > 1 && times_[rank].unskipped_matmul_seconds() > 0;
    }
    // Returns the work of a rank without sharing.
    double work(std::size_t rank) const { return times_[rank].full_flops; }

    // Returns the fraction of its matmuls that a slow rank cannot finish within `seconds`; 0 for other ranks.
    double released_fraction(std::size_t rank, double seconds) const {
        return is_slow(rank) ? std::max(0.0, 1 - max_work_within(rank, seconds) / work(rank)) : 0;
    }
    // Returns the fraction of its matmuls that a rank must offload: the excess of released_fraction() over the
    // largest fraction that may be skipped.
    double min_offloaded_fraction(std::size_t rank, double seconds) const {
        return std::max(0.0, released_fraction(rank, seconds) - max_skipped_fraction_);
    }
    // Returns the work that a rank can do within `seconds` for other ranks; 0 if the method offloads nothing.
    // Slightly slow ranks may help slower ranks.
    double spare_work(std::size_t rank, double seconds) const {
        return method_.offloads_any_matmul() ? std::max(0.0, max_work_within(rank, seconds) - work(rank)) : 0;
    }

    // True if offloading and skipping let all ranks finish within `seconds`. A rank skips as much as it may. If
    // this is not enough, it must offload the same fraction of every matmul, and a method that offloads only
    // some matmuls cannot reach `seconds`.
    bool can_finish_within(double seconds) const {
        double needed_work = 0;
        double total_spare_work = 0;
        for (std::size_t r = 0; r < size(); ++r) {
            const double offloaded = min_offloaded_fraction(r, seconds);
            if (released_fraction(r, seconds) > max_released_fraction ||
                (offloaded > 0 && !method_.offloads_all_matmuls()))
                return false;
            needed_work += offloaded * work(r);
            total_spare_work += spare_work(r, seconds);
        }
        return needed_work <= total_spare_work;
    }

    // Returns the shortest possible seconds per step. Ranks that are not slow keep all of their own work. If
    // ranks may skip, the result is at least the time that the fastest rank needs for all of its own work.
    double min_seconds() const {
        double min_unskipped_seconds = std::numeric_limits<double>::infinity();
        double lower_bound = 0;
        double upper_bound = 0;
        for (std::size_t r = 0; r < size(); ++r) {
            const double unskipped_seconds =
                times_[r].unskipped_matmul_seconds() + times_[r].others + method_.message_seconds;
            min_unskipped_seconds = std::min(min_unskipped_seconds, unskipped_seconds);
            upper_bound = std::max(upper_bound, unskipped_seconds);
            if (!is_slow(r)) lower_bound = std::max(lower_bound, unskipped_seconds);
        }
        if (max_skipped_fraction_ > 0) lower_bound = std::max(lower_bound, min_unskipped_seconds);
        for (int halving = 0; halving < 60; ++halving) {
            const double middle = (lower_bound + upper_bound) / 2;
            (can_finish_within(middle) ? upper_bound : lower_bound) = middle;
        }
        return upper_bound;
    }

private:
    // Returns the work that a rank can do within `seconds`, or work(rank) if the rank's speed is unknown. The
    // result is negative if kernels other than matmuls take too long.
    double max_work_within(std::size_t rank, double seconds) const {
        const double seconds_per_flop = times_[rank].unskipped_matmul_seconds() / work(rank);
        return seconds_per_flop > 0
                   ? (seconds - times_[rank].others - method_.message_seconds) / seconds_per_flop
                   : work(rank);
    }

    const std::vector<plan::RankTimes>& times_;
    const std::vector<double>& slowness_;
    double max_skipped_fraction_;
    OffloadMethod method_;
};

// Returns the indices of `sizes`, sorted by descending size.
std::vector<std::size_t> sort_by_size(const std::vector<double>& sizes) {
    std::vector<std::size_t> indices(sizes.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    std::ranges::stable_sort(indices, std::ranges::greater{}, [&](std::size_t index) { return sizes[index]; });
    return indices;
}

// Returns, per rank, the fraction that the rank offloads of each matmul of the method, for a step of `seconds`.
// Each slow rank offloads at least the fraction that it must offload. The slowest ranks then offload more, as
// long as helpers have spare work.
std::vector<double> compute_offloaded_fractions(const SlowTeam& team, const std::vector<double>& slowness,
                                                double seconds) {
    std::vector<double> offloaded;
    double remaining_spare_work = 0;
    for (std::size_t r = 0; r < team.size(); ++r) {
        offloaded.push_back(team.min_offloaded_fraction(r, seconds));
        remaining_spare_work +=
            team.spare_work(r, seconds) - offloaded.back() * team.work(r) * team.method().work_fraction;
    }
    if (!team.method().offloads_any_matmul()) return offloaded;
    for (const std::size_t rank : sort_by_size(slowness)) {
        const double offloadable_work = team.work(rank) * team.method().work_fraction;
        if (offloadable_work == 0) continue;
        const double added_fraction = std::clamp(team.released_fraction(rank, seconds) - offloaded[rank], 0.0,
                                                 std::max(0.0, remaining_spare_work / offloadable_work));
        offloaded[rank] += added_fraction;
        remaining_spare_work -= added_fraction * offloadable_work;
    }
    return offloaded;
}

// Assigns offloaded work to helpers, one helper after the other. `offloaded` has the fraction per rank from
// compute_offloaded_fractions(). If helpers have more spare work than needed, each helper uses the same
// fraction of its spare work.
std::vector<layout::Migration> make_migrations(const SlowTeam& team, const std::vector<double>& offloaded,
                                               double seconds) {
    std::vector<double> spare_work;
    double needed_work = 0;
    for (std::size_t r = 0; r < team.size(); ++r) {
        spare_work.push_back(team.spare_work(r, seconds));
        needed_work += offloaded[r] * team.work(r) * team.method().work_fraction;
    }
    const double total_spare_work = compute_sum(spare_work);
    for (double& each : spare_work)
        each *= total_spare_work > 0 ? std::min(1.0, needed_work / total_spare_work) : 0;
    const std::vector<std::size_t> helpers = sort_by_size(spare_work);
    std::vector<layout::Migration> migrations;
    std::size_t next_helper = 0;  // index into `helpers`
    for (const std::size_t slow_rank : sort_by_size(offloaded)) {
        const double offloadable_work = team.work(slow_rank) * team.method().work_fraction;
        for (double remaining_fraction = offloaded[slow_rank];
             remaining_fraction > negligible_fraction && next_helper < helpers.size();) {
            double& helper_spare_work = spare_work[helpers[next_helper]];
            const double fraction = std::min(remaining_fraction, helper_spare_work / offloadable_work);
            layout::Migration migration{.from = static_cast<int>(slow_rank),
                                        .to = static_cast<int>(helpers[next_helper])};
            for (std::size_t m = 0; m < layout::block_matmul_count; ++m)
                migration.fractions[m] = fraction * team.method().is_offloaded[m];
            if (fraction > negligible_fraction) migrations.push_back(migration);
            remaining_fraction -= fraction;
            helper_spare_work -= fraction * offloadable_work;
            if (helper_spare_work <= negligible_fraction * offloadable_work) ++next_helper;
        }
    }
    return migrations;
}

// Returns, per rank, the fraction of each of its matmuls that helper ranks compute.
std::vector<layout::MatmulFractions> sum_offloaded_fractions(const Sharing& sharing, std::size_t ranks) {
    std::vector<layout::MatmulFractions> offloaded(ranks, layout::MatmulFractions{});
    for (const layout::Migration& each : sharing.migrations) {
        for (std::size_t m = 0; m < layout::block_matmul_count; ++m)
            offloaded[static_cast<std::size_t>(each.from)][m] += each.fractions[m];
    }
    return offloaded;
}

// Returns the work of `fractions` of a rank's four matmuls, as a fraction of all its matmul work.
double compute_work_fraction(const layout::MatmulFractions& fractions, const OffloadCosts& costs) {
    return std::inner_product(fractions.begin(), fractions.end(), costs.work.begin(), 0.0);
}

// Returns the sharing with which all ranks finish a step within `seconds`.
Sharing make_sharing(const SlowTeam& team, const std::vector<double>& slowness, double seconds) {
    const std::vector<double> offloaded = compute_offloaded_fractions(team, slowness, seconds);
    Sharing sharing{.migrations = make_migrations(team, offloaded, seconds)};
    for (std::size_t r = 0; r < team.size(); ++r) {
        const double released_fraction = team.released_fraction(r, seconds);
        // As plan::Plan::skipped says: 0 if the rank skips nothing, even if it offloads matmuls.
        const bool is_all_offloaded =
            team.method().offloads_all_matmuls() && released_fraction <= offloaded[r] + negligible_fraction;
        sharing.skipped.push_back(
            is_all_offloaded || released_fraction <= negligible_fraction ? 0 : released_fraction);
    }
    return sharing;
}

}  // namespace

double sum_skipped_work(const Sharing& sharing, const OffloadCosts& costs) {
    double skipped_work = 0;
    for (std::size_t r = 0; r < sharing.skipped.size(); ++r)
        skipped_work += compute_work_fraction(
            compute_skipped_fractions(sharing.migrations, static_cast<int>(r), sharing.skipped[r]), costs);
    return skipped_work;
}

double predict_offload_seconds(const std::vector<layout::Migration>& migrations, std::size_t ranks,
                               const OffloadCosts& costs) {
    layout::MatmulFractions is_offloaded{};
    for (const layout::Migration& each : migrations) {
        for (std::size_t m = 0; m < layout::block_matmul_count; ++m)
            is_offloaded[m] = is_offloaded[m] > 0 || each.fractions[m] > 0 ? 1 : 0;
    }
    return make_method(is_offloaded, costs, ranks).message_seconds;
}

double predict_team_seconds(const std::vector<plan::RankTimes>& times, const Sharing& sharing,
                            const OffloadCosts& costs) {
    const std::vector<layout::MatmulFractions> offloaded = sum_offloaded_fractions(sharing, times.size());
    std::vector<double> work;  // per rank: FLOPs that the rank computes with `sharing`
    for (std::size_t r = 0; r < times.size(); ++r) {
        layout::MatmulFractions released_fractions = offloaded[r];
        for (double& fraction : released_fractions)
            fraction = std::max(fraction, sharing.skipped.empty() ? 0 : sharing.skipped[r]);
        work.push_back(times[r].full_flops * (1 - compute_work_fraction(released_fractions, costs)));
    }
    for (const layout::Migration& each : sharing.migrations)
        work[static_cast<std::size_t>(each.to)] += compute_work_fraction(each.fractions, costs) *
                                                   times[static_cast<std::size_t>(each.from)].full_flops;
    double max_seconds = 0;
    for (std::size_t r = 0; r < times.size(); ++r) {
        const double flops = times[r].full_flops;
        const double matmul_seconds = flops > 0 ? times[r].unskipped_matmul_seconds() * work[r] / flops : 0;
        max_seconds = std::max(max_seconds, matmul_seconds + times[r].others);
    }
    return max_seconds + predict_offload_seconds(sharing.migrations, times.size(), costs);
}

Sharing find_best_offload(const std::vector<plan::RankTimes>& times, const std::vector<double>& slowness,
                          const OffloadRules& rules) {
    std::vector<SlowTeam> candidates;  // the team with each method
    for (const layout::MatmulFractions& matmuls :
         {layout::MatmulFractions{}, matmuls_without_rounds, all_matmuls})
        candidates.emplace_back(times, slowness, rules.max_skipped_fraction,
                                make_method(matmuls, rules.costs, times.size()));
    double min_seconds = candidates.front().min_seconds();
    for (const SlowTeam& candidate : candidates) min_seconds = std::min(min_seconds, candidate.min_seconds());
    std::optional<Sharing> best;
    for (const SlowTeam& candidate : candidates) {
        const double candidate_seconds = candidate.min_seconds();
        if (candidate_seconds > min_seconds * (1 + rules.max_step_slowdown)) continue;
        const Sharing sharing = make_sharing(
            candidate, slowness, std::max(candidate_seconds, min_seconds * (1 + rules.max_step_slowdown)));
        if (!best ||
            sum_skipped_work(sharing, rules.costs) < sum_skipped_work(*best, rules.costs) - negligible_fraction)
            best = sharing;
    }
    return *best;
}

}  // namespace trireme::policy
