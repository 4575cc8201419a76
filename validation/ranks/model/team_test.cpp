// A tensor team computes the same outputs, gradients, losses and choices as one rank, with dropout on. Trials
// are all kinds of layers and whole models.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/model/stage_run.hpp"
#include "trireme/comm/collectives.hpp"
#include "unit/stage/small_models.hpp"

namespace trireme::model {
namespace {

using layout::Range;
using plan::Recompute;
using stage::BackwardHalves;
using stage::TokenRows;
using validation::run_in_team;
using validation::run_on_one_rank;
using validation::Sharing;
using validation::StageRun;
using validation::StageTask;

const device::WaitPolicy wait_policy{.stall_seconds = 20};

struct Trial {
    const char* machine;
    device::Stream stream;
    device::DType dtype;
    double bar;
    stage::SmallModel model;

    friend void PrintTo(const Trial& trial, std::ostream* out) {
        *out << trial.machine << "_" << trial.model.name;
    }
};

std::vector<Trial> exact_trials() {
    std::vector<Trial> trials;
    for (const stage::SmallModel& model : stage::list_small_models())
        trials.push_back({"reference_f64", {device::ReferenceStream{}}, device::DType::f64, 1e-12, model});
    return trials;
}

std::vector<Trial> every_trial() {
    std::vector<Trial> trials = exact_trials();
    for (const stage::SmallModel& model : stage::list_small_models())
        trials.push_back({"cpu_f32", {device::CpuStream{}}, device::DType::f32, 1e-5, model});
    return trials;
}

std::vector<Trial> one_of_each_family() {
    std::vector<Trial> trials;
    for (const Trial& trial : every_trial()) {
        const auto is_like = [&](const Trial& other) {
            return other.dtype == trial.dtype && other.model.family == trial.model.family;
        };
        if (std::ranges::none_of(trials, is_like)) trials.push_back(trial);
    }
    return trials;
}

// Has enough heads and groups for four ranks. 8 heads over shares of 5:2:1 are 5, 2 and 1.
ModelConfig sharable(const stage::SmallModel& model) {
    ModelConfig config = config_of(model);
    config.width = 16;
    config.heads = 8;
    if (model.family == Family::llama) config.groups = 4;
    return config;
}

std::vector<std::size_t> make_uneven_policy(int ranks) {
    if (ranks == 2) return {5, 3};
    if (ranks == 3) return {5, 2, 1};
    std::vector<std::size_t> shares(static_cast<std::size_t>(ranks), 1);
    shares[1] = 4;
    return shares;
}

class Team : public testing::TestWithParam<Trial> {
protected:
    Team() : Team(sharable(GetParam().model)) {}
    explicit Team(ModelConfig config) : config_(std::move(config)) {}

    // Calls use(sharing) for even and uneven shares, with sequence parallelism and without (`cuttings`).
    template <class Use>
    void for_each_sharing(const Use& use, std::initializer_list<bool> cuttings = {false, true}) {
        for (const bool cuts_rows : cuttings) {
            for (const auto& shares :
                 {std::vector<std::size_t>(ranks(), 1), make_uneven_policy(group_.size())}) {
                SCOPED_TRACE(
                    cat(cuts_rows ? "own rows, shares " : "all rows, shares ", testing::PrintToString(shares)));
                use(Sharing{.ranks = group_, .shares = shares, .cuts_rows = cuts_rows});
            }
        }
    }

    std::size_t ranks() const { return static_cast<std::size_t>(group_.size()); }
    Range all_layers() const { return {0, build_layers(config_).size()}; }

    stage::TokenSample sample(std::int64_t visit, std::size_t length) const {
        return stage::make_sample(config_, visit, length);
    }
    StageTask task(const TokenRows& rows) const {
        return {.config = config_, .layers = all_layers(), .rows = rows, .dtype = GetParam().dtype};
    }

    void expect_like_single_rank(const StageTask& task, std::initializer_list<bool> cuttings = {false, true}) {
        const StageRun single = run_on_one_rank(stream_, task);
        for_each_sharing(
            [&](const Sharing& sharing) { expect_equal(run_in_team(stream_, task, sharing), single); },
            cuttings);
    }

    void expect_equal(const StageRun& shared, const StageRun& single) {
        expect_own_rows(shared.output, single.output, shared.own);
        expect_own_rows(shared.grad_input, single.grad_input, shared.own);
        expect_near({&shared.outcome.loss, 1}, {&single.outcome.loss, 1}, 0);
        EXPECT_EQ(shared.outcome.choices, single.outcome.choices);
        expect_sums(shared.gradients, single.gradients);
    }

    device::Stream stream_ = GetParam().stream;
    ModelConfig config_;
    comm::MpiCommunicator group_{MPI_COMM_WORLD, "tensor", wait_policy};

private:
    void expect_near(std::span<const double> numbers, std::span<const double> expected, double floor) const {
        const double error = stage::largest_difference(numbers, expected);
        EXPECT_LE(error, GetParam().bar * std::max(stage::norm_of(expected), floor))
            << "rank " << group_.rank();
    }

    void expect_own_rows(const std::vector<double>& own, const std::vector<double>& all, Range rows) const {
        if (all.empty()) {
            EXPECT_TRUE(own.empty());
            return;
        }
        const std::span<const double> part =
            std::span(all).subspan(rows.begin * config_.width, rows.count * config_.width);
        expect_near(own, part, stage::norm_of(all));
    }

    // Expects the sum of the ranks' gradients to equal those of one rank.
    void expect_sums(const stage::NamedNumbers& own, const stage::NamedNumbers& expected) {
        std::vector<double> in_order;
        for (const auto& [name, numbers] : expected) {
            const auto part = own.find(name);
            const std::vector<double> nothing(numbers.size(), 0.0);
            const std::vector<double>& more = part == own.end() ? nothing : part->second;
            in_order.insert(in_order.end(), more.begin(), more.end());
        }
        const std::vector<double> sums = reduce_over_ranks(in_order);
        const double all = stage::norm_of(expected);
        std::size_t begin = 0;
        for (const auto& [name, numbers] : expected) {
            SCOPED_TRACE(name);
            expect_near(std::span(sums).subspan(begin, numbers.size()), numbers, error_floor(numbers, all));
            begin += numbers.size();
        }
    }

    std::vector<double> reduce_over_ranks(const std::vector<double>& own) {
        const std::vector<double> all = all_gather(group_, own);
        std::vector<double> sum(own.size(), 0.0);
        for (std::size_t i = 0; i < all.size(); ++i) sum[i % own.size()] += all[i];
        return sum;
    }

    // Returns the least norm to which an error is relative. A gradient that is 0 but for rounding has `all`.
    double error_floor(const std::vector<double>& gradient, double all) const {
        return stage::norm_of(gradient) < GetParam().bar * all ? all : 1e-3 * all;
    }
};

TEST_P(Team, ComputesEveryLayerLikeASingleRank) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    StageTask task = this->task(rows);
    for (std::size_t layer = 0; layer < all_layers().count; ++layer) {
        SCOPED_TRACE(cat("layer ", layer));
        task.layers = {layer, 1};
        expect_like_single_rank(task);
    }
}

TEST_P(Team, TrainsAndEvaluatesLikeASingleRankOnPackedOrPaddedRows) {
    const std::array samples{sample(3, 9), sample(1LL << 40, 4), sample(5, 7)};
    for (const TokenRows& rows : {TokenRows(samples), TokenRows(samples, config_.positions)}) {
        for (const bool is_training : {true, false}) {
            SCOPED_TRACE(cat(rows.shape().rows, " rows", is_training ? ", training" : ""));
            StageTask task = this->task(rows);
            task.is_training = is_training;
            expect_like_single_rank(task);
        }
    }
}

// Trials in f64 only, where the smallest mistake shows.
class ExactTeam : public Team {};

TEST_P(ExactTeam, TrainsLikeASingleRankWithRecomputeOrSplitBackward) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    StageTask task = this->task(rows);
    const StageRun single = run_on_one_rank(stream_, task);
    const auto expect_unchanged_by = [&](Recompute recompute, BackwardHalves halves) {
        SCOPED_TRACE(cat(to_string(recompute), halves == BackwardHalves::apart ? ", halves apart" : ""));
        task.recompute = recompute;
        task.halves = halves;
        for_each_sharing(
            [&](const Sharing& sharing) { expect_equal(run_in_team(stream_, task, sharing), single); });
    };
    expect_unchanged_by(Recompute::selective, BackwardHalves::together);
    expect_unchanged_by(Recompute::full, BackwardHalves::together);
    expect_unchanged_by(Recompute::none, BackwardHalves::apart);
    expect_unchanged_by(Recompute::selective, BackwardHalves::apart);
}

// Some ranks have no row of their own.
TEST_P(ExactTeam, MatchesASingleRankWithFewerRowsThanRanks) {
    if (config_.reads_images()) GTEST_SKIP() << "an image has more rows than there are ranks";
    for (std::size_t length = 1; length < ranks() && length < 3; ++length) {
        const TokenRows rows(std::array{sample(3, length)});
        SCOPED_TRACE(cat(length, " rows"));
        StageTask task = this->task(rows);
        expect_like_single_rank(task, {true});
        task.recompute = Recompute::full;
        expect_like_single_rank(task, {true});
        task.is_training = false;
        expect_like_single_rank(task, {true});
    }
}

TEST_P(ExactTeam, MatchesASingleRankOnEachStageWithFewerRowsThanRanks) {
    if (config_.reads_images()) GTEST_SKIP() << "an image has more rows than there are ranks";
    const TokenRows rows(std::array{sample(3, 1)});
    const std::size_t layers = all_layers().count;
    for (const Range part : {Range{0, 2}, Range{2, 2}, Range{4, layers - 4}}) {
        for (const bool is_training : {true, false}) {
            SCOPED_TRACE(cat("layers from ", part.begin, is_training ? ", training" : ""));
            StageTask task = this->task(rows);
            task.layers = part;
            task.is_training = is_training;
            expect_like_single_rank(task, {true});
        }
    }
}

TEST_P(ExactTeam, ComputesExactlyTheSameLossOnEveryRank) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    for_each_sharing([&](const Sharing& sharing) {
        const StageRun run = run_in_team(stream_, task(rows), sharing);

        const std::vector<double> losses = all_gather(group_, std::array{run.outcome.loss});
        EXPECT_EQ(losses, std::vector<double>(ranks(), run.outcome.loss));
    });
}

// A model that is wide enough for each rank to have channels to skip.
class ResizedTeam : public Team {
protected:
    ResizedTeam() : Team(wide(GetParam().model)) {}

    static ModelConfig wide(const stage::SmallModel& model) {
        ModelConfig config = sharable(model);
        config.width = 32;
        config.mlp_width = 48;
        return config;
    }

    // Makes rank 1 or all ranks skip channels: sets this rank's lists in `sharing`, all masks in `task`.
    void skip_channels(bool is_of_all, StageTask& task, Sharing& sharing) const {
        for (int rank = 0; rank < group_.size(); ++rank) {
            if (!is_of_all && rank != 1) continue;
            const TensorPart part{.rank = rank, .shares = sharing.shares};
            const auto projections = stage::list_projections(config_, {{.layers = task.layers, .part = part}});
            const Resizing::ChannelLists lists = stage::scattered_lists(projections);
            EXPECT_GE(lists.size(), 2 * config_.layers);  // at least the projections that read all channels
            stage::add_masks(projections, lists, task.masks);
            if (rank == group_.rank()) sharing.lists = lists;
        }
    }
};

TEST_P(ResizedTeam, TrainsLikeARankWithMaskedWeightsAndEvaluatesUnmasked) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    StageTask evaluation = task(rows);
    evaluation.is_training = false;
    const StageRun evaluated = run_on_one_rank(stream_, evaluation);
    for (const bool is_of_all : {false, true}) {
        SCOPED_TRACE(is_of_all ? "all resized" : "one resized");
        for_each_sharing([&](Sharing sharing) {
            StageTask task = this->task(rows);
            skip_channels(is_of_all, task, sharing);
            const StageRun single = run_on_one_rank(stream_, task);
            for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
                SCOPED_TRACE(to_string(recompute));
                task.recompute = recompute;
                expect_equal(run_in_team(stream_, task, sharing), single);
            }
            task.recompute = Recompute::none;
            task.halves = BackwardHalves::apart;
            expect_equal(run_in_team(stream_, task, sharing), single);
            expect_equal(run_in_team(stream_, evaluation, sharing), evaluated);
        });
    }
}

// Rank 1 is slow, and of more than two ranks the last one, with other fractions. All other ranks help.
std::vector<layout::Migration> make_migrations(int ranks) {
    std::vector<layout::Migration> all;
    const int owners = ranks > 2 ? 2 : 1;
    for (int to = 0; to < ranks; ++to) {
        if (to == 1 || (owners == 2 && to == ranks - 1)) continue;
        const double part = 0.75 / (ranks - owners);
        all.push_back({.from = 1, .to = to, .fractions = {part, part, part, part}});
        if (owners == 2) all.push_back({.from = ranks - 1, .to = to, .fractions = {0, part, part / 2, part}});
    }
    return all;
}

class MigratingTeam : public ResizedTeam {
protected:
    MigratingTeam() {
        config_.width = 96;
        config_.mlp_width = 96;
    }
};

TEST_P(MigratingTeam, TrainsAndEvaluatesLikeASingleRank) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    StageTask evaluation = task(rows);
    evaluation.is_training = false;
    const StageRun trained = run_on_one_rank(stream_, task(rows));
    const StageRun evaluated = run_on_one_rank(stream_, evaluation);
    for_each_sharing([&](Sharing sharing) {
        StageTask task = this->task(rows);
        sharing.migrations = make_migrations(group_.size());
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
            SCOPED_TRACE(to_string(recompute));
            task.recompute = recompute;
            expect_equal(run_in_team(stream_, task, sharing), trained);
        }
        task.recompute = Recompute::none;
        task.halves = BackwardHalves::apart;
        sharing.spread = layout::Spread::direct;
        expect_equal(run_in_team(stream_, task, sharing), trained);
        expect_equal(run_in_team(stream_, evaluation, sharing), evaluated);
    });
}

// Skipped channels are missing on all ranks, offloaded ones on no rank: FlexTP's SEMI.
TEST_P(MigratingTeam, CombinesSkippedAndOffloadedChannels) {
    const TokenRows rows(std::array{sample(3, 9), sample(4, 4)});
    for_each_sharing([&](Sharing sharing) {
        StageTask task = this->task(rows);
        skip_channels(true, task, sharing);
        for (layout::Migration& each : sharing.migrations = make_migrations(group_.size()))
            for (double& part : each.fractions) part *= 0.6;
        const StageRun single = run_on_one_rank(stream_, task);
        expect_equal(run_in_team(stream_, task, sharing), single);
        task.halves = BackwardHalves::apart;
        expect_equal(run_in_team(stream_, task, sharing), single);
    });
}

// All ranks must use the same tiles of rows, although a rank with fewer outputs could use larger ones. 300 rows
// are two tiles for the largest share and one for the others.
TEST(TeamHead, UsesTheSameRowTilesOnAllRanksForUnevenShares) {
    ModelConfig config = sharable(stage::list_small_models().front());
    config.layers = 1;
    config.positions = 300;
    config.vocabulary = 50257;
    device::Stream stream{.backend = device::CpuStream{}};
    comm::MpiCommunicator group(MPI_COMM_WORLD, "tensor", wait_policy);
    std::vector<std::size_t> shares(static_cast<std::size_t>(group.size()), 1);
    shares[0] = 5;
    const TokenRows rows(std::array{stage::make_sample(config, 0, 300)});
    const StageTask head{.config = config, .layers = {build_layers(config).size() - 1, 1}, .rows = rows};

    const StageRun single = run_on_one_rank(stream, head);
    const StageRun shared = run_in_team(stream, head, {.ranks = group, .shares = shares});

    EXPECT_NEAR(shared.outcome.loss, single.outcome.loss, 1e-12 * single.outcome.loss);
    EXPECT_LE(stage::error_of(shared.grad_input, single.grad_input), 1e-12);
}

std::string name_of_trial(const testing::TestParamInfo<Trial>& trial) {
    return testing::PrintToString(trial.param);
}

INSTANTIATE_TEST_SUITE_P(Models, Team, testing::ValuesIn(every_trial()), name_of_trial);
INSTANTIATE_TEST_SUITE_P(Models, ResizedTeam, testing::ValuesIn(every_trial()), name_of_trial);
INSTANTIATE_TEST_SUITE_P(Models, MigratingTeam, testing::ValuesIn(one_of_each_family()), name_of_trial);
INSTANTIATE_TEST_SUITE_P(Models, ExactTeam, testing::ValuesIn(exact_trials()), name_of_trial);

}  // namespace
}  // namespace trireme::model
