#include "trireme/layout/migration.hpp"

#include <algorithm>
#include <numeric>

namespace trireme::layout {

std::vector<Migration> find_team_migrations(const std::vector<Migration>& all, const std::vector<int>& team) {
    // Returns the size of the team if `rank` is not in the team.
    const auto find_index_in_team = [&](int rank) {
        return static_cast<int>(std::ranges::find(team, rank) - team.begin());
    };
    const int team_size = static_cast<int>(team.size());
    std::vector<Migration> team_migrations;
    for (const Migration& each : all) {
        const Migration migration{.from = find_index_in_team(each.from),
                                  .to = find_index_in_team(each.to),
                                  .fractions = each.fractions};
        if (migration.from < team_size && migration.to < team_size) team_migrations.push_back(migration);
    }
    return team_migrations;
}

MatmulFractions compute_skipped_fractions(const std::vector<Migration>& all, int rank,
                                          double uncomputed_fraction) {
    MatmulFractions fractions;
    fractions.fill(uncomputed_fraction);
    for (const Migration& each : all) {
        if (each.from != rank) continue;
        for (std::size_t m = 0; m < block_matmul_count; ++m) fractions[m] -= each.fractions[m];
    }
    for (double& fraction : fractions) fraction = std::max(fraction, 0.0);
    return fractions;
}

std::vector<double> compute_mean_skipped_fractions(const std::vector<Migration>& all,
                                                   const std::vector<double>& uncomputed_fractions) {
    std::vector<double> mean_fractions;
    for (std::size_t rank = 0; rank < uncomputed_fractions.size(); ++rank) {
        const MatmulFractions fractions =
            compute_skipped_fractions(all, static_cast<int>(rank), uncomputed_fractions[rank]);
        mean_fractions.push_back(std::accumulate(fractions.begin(), fractions.end(), 0.0) /
                                 static_cast<double>(block_matmul_count));
    }
    return mean_fractions;
}

}  // namespace trireme::layout
