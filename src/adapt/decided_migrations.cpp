#include "adapt/decided_migrations.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/setup/memory_prediction.hpp"

namespace trireme::adapt {
namespace {

// Returns the fraction of the matmul that all helpers of rank `from` compute together.
double sum_fractions(const std::vector<layout::Migration>& migrations, int from, std::size_t matmul) {
    double sum = 0;
    for (const layout::Migration& each : migrations) sum += each.from == from ? each.fractions[matmul] : 0;
    return sum;
}

void check_migration(const layout::Migration& migration, const std::vector<layout::Migration>& all,
                     const plan::Plan& plan) {
    const auto& [from, to, fractions] = migration;
    const std::string between = cat("rank ", to, " cannot compute a part of rank ", from, "'s matmuls");
    if (from == to || plan.find_team(from) < 0 || plan.find_team(from) != plan.find_team(to)) {
        throw ConfigError(cat(between,
                              ", because a migration needs two ranks of one tensor-parallel group; name two "
                              "ranks that share their layers"));
    }
    const auto is_between_both = [&](const layout::Migration& other) {
        return other.from == from && other.to == to;
    };
    if (std::ranges::count_if(all, is_between_both) > 1)
        throw ConfigError(cat("\"migrations\" has several entries from rank ", from, " to rank ", to,
                              "; write one entry with the sum of their parts"));
    const auto is_from_helper = [&](const layout::Migration& other) { return other.from == to; };
    if (std::ranges::any_of(all, is_from_helper))
        throw ConfigError(cat(between, ", because rank ", to,
                              " offloads a part of its own matmuls; a rank may either offload work or be a "
                              "helper rank"));
    for (std::size_t matmul = 0; matmul < layout::block_matmul_count; ++matmul) {
        if (const double sum = sum_fractions(all, from, matmul); sum >= 1)
            throw ConfigError(cat("helper ranks would compute the fraction ", sum, " of a matmul of rank ",
                                  from, ", but the sum of its parts must be below 1; make the parts smaller"));
    }
}

}  // namespace

void set_migrations(const std::vector<layout::Migration>& migrations, int ranks, plan::Plan& plan) {
    for (const layout::Migration& each : migrations) {
        if (each.from < ranks && each.to < ranks) {
            check_migration(each, migrations, plan);
            continue;
        }
        throw ConfigError(cat("\"migrations\" names rank ", std::max(each.from, each.to),
                              ", but the job has ranks 0 to ", ranks - 1, "; name one of them"));
    }
    plan.migrations = migrations;
}

void set_skipped_fractions(const std::vector<double>& fractions, int ranks, plan::Plan& plan) {
    if (fractions.empty()) return;
    if (fractions.size() != static_cast<std::size_t>(ranks)) {
        throw ConfigError(cat("\"left_out\" has ", format_count(fractions.size(), "value"),
                              ", but the job has ", format_count(static_cast<std::uint64_t>(ranks), "rank"),
                              "; give one value per rank"));
    }
    double max_fraction = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const double uncomputed_fraction = fractions[static_cast<std::size_t>(rank)];
        max_fraction =
            std::max(max_fraction,
                     std::ranges::max(compute_skipped_fractions(plan.migrations, rank, uncomputed_fraction)));
    }
    constexpr double rounding = 1e-5;
    if (max_fraction > plan.max_skipped_fraction + rounding) {
        throw ConfigError(cat("a rank would skip the fraction ", max_fraction,
                              " of a matmul, but the limit is ", plan.max_skipped_fraction,
                              "; use --straggler resize or semi with a larger --resize-limit"));
    }
    plan.skipped = fractions;
}

void check_memory_of_migrations(const setup::Job& job, const setup::PlanState& next) {
    const std::size_t limit = job.config.layout.memory_limit;
    if (limit == 0) return;
    for (const layout::Migration& migration : next.plan.migrations) {
        for (const int rank : {migration.from, migration.to}) {
            const std::size_t bytes =
                setup::predict_rank_memory({job, next}, &job.config.optimizer, next.gradients, rank).total();
            if (bytes > limit)
                throw ConfigError(cat("rank ", rank, " needs ", format_with_commas(bytes),
                                      " bytes with these migrations, but --memory-limit is ",
                                      format_with_commas(limit),
                                      " bytes; raise the limit, or use --straggler resize"));
        }
    }
}

}  // namespace trireme::adapt
