#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "trireme/base/error.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/plan/decision.hpp"

namespace trireme::plan {
namespace {

double mean(const layout::ProductParts& parts) {
    return std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(parts.size());
}

std::string percent(double share) { return cat(std::llround(100 * share), " %"); }

// The fraction of a rank's matmuls that helper ranks compute.
struct Helped {
    std::set<int> helpers = {};
    double part = 0;
};

std::map<int, Helped> helped_of(const std::vector<layout::Migration>& migrations) {
    std::map<int, Helped> owners;
    for (const layout::Migration& each : migrations) {
        owners[each.from].helpers.insert(each.to);
        owners[each.from].part += mean(each.parts);
    }
    return owners;
}

}  // namespace

std::vector<std::string> sharing_words(const Decision& decision) {
    std::vector<std::string> words;
    const std::vector<double> shares = left_out_shares(decision.migrations, decision.left_out);
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
        if (shares[rank] > 0)
            words.push_back(cat("rank ", rank, " leaves out ", percent(shares[rank]), " of its products"));
    }
    for (const auto& [owner, helped] : helped_of(decision.migrations)) {
        words.push_back(cat(layout::text_of_ranks({helped.helpers.begin(), helped.helpers.end()}), " compute",
                            helped.helpers.size() > 1 ? " " : "s ", percent(helped.part), " of rank ", owner,
                            "'s products"));
    }
    return words;
}

}  // namespace trireme::plan
