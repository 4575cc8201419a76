#include "trireme/layout/migration.hpp"

#include <algorithm>
#include <numeric>

namespace trireme::layout {

std::vector<Migration> within(const std::vector<Migration>& all, const std::vector<int>& team) {
    const auto index_in_team = [&](int rank) {
        return static_cast<int>(std::ranges::find(team, rank) - team.begin());
    };
    const int size = static_cast<int>(team.size());
    std::vector<Migration> own;
    for (const Migration& each : all) {
        const Migration migration{
            .from = index_in_team(each.from), .to = index_in_team(each.to), .parts = each.parts};
        if (migration.from < size && migration.to < size) own.push_back(migration);
    }
    return own;
}

ProductParts left_out_beside(const std::vector<Migration>& all, int rank, double not_computed) {
    ProductParts parts;
    parts.fill(not_computed);
    for (const Migration& each : all) {
        if (each.from != rank) continue;
        for (std::size_t p = 0; p < product_count; ++p) parts[p] -= each.parts[p];
    }
    for (double& part : parts) part = std::max(part, 0.0);
    return parts;
}

std::vector<double> left_out_shares(const std::vector<Migration>& all,
                                    const std::vector<double>& not_computed) {
    std::vector<double> shares;
    for (std::size_t rank = 0; rank < not_computed.size(); ++rank) {
        const ProductParts parts = left_out_beside(all, static_cast<int>(rank), not_computed[rank]);
        shares.push_back(std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(product_count));
    }
    return shares;
}

}  // namespace trireme::layout
