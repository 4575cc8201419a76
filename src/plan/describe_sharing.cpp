#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "trireme/base/error.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/plan/decision.hpp"

namespace trireme::plan {
namespace {

double compute_mean(const layout::MatmulFractions& fractions) {
    return std::accumulate(fractions.begin(), fractions.end(), 0.0) / static_cast<double>(fractions.size());
}

std::string format_percent(double fraction) { return cat(std::llround(100 * fraction), " %"); }

// The matmuls that helper ranks compute for one rank.
struct OffloadedWork {
    std::set<int> helpers = {};
    double fraction = 0;  // of the rank's matmuls, summed over the helpers
};

// Returns the offloaded work of each rank that offloads matmuls.
std::map<int, OffloadedWork> find_offloaded_work(const std::vector<layout::Migration>& migrations) {
    std::map<int, OffloadedWork> work_by_owner;
    for (const layout::Migration& each : migrations) {
        work_by_owner[each.from].helpers.insert(each.to);
        work_by_owner[each.from].fraction += compute_mean(each.fractions);
    }
    return work_by_owner;
}

}  // namespace

std::vector<std::string> describe_sharing(const Decision& decision) {
    std::vector<std::string> sentences;
    const std::vector<double> skipped_fractions =
        compute_mean_skipped_fractions(decision.migrations, decision.skipped);
    for (std::size_t rank = 0; rank < skipped_fractions.size(); ++rank) {
        if (skipped_fractions[rank] > 0)
            sentences.push_back(
                cat("rank ", rank, " skips ", format_percent(skipped_fractions[rank]), " of its matmuls"));
    }
    for (const auto& [owner, offloaded_work] : find_offloaded_work(decision.migrations)) {
        sentences.push_back(
            cat(layout::ranks_to_string({offloaded_work.helpers.begin(), offloaded_work.helpers.end()}),
                " compute", offloaded_work.helpers.size() > 1 ? " " : "s ",
                format_percent(offloaded_work.fraction), " of rank ", owner, "'s matmuls"));
    }
    return sentences;
}

}  // namespace trireme::plan
