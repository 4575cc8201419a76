#include "trireme/stage/gradient_exchange.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/stage/model_part.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::stage {
namespace {

using validation::Element;
using validation::fraction;
using validation::Holdings;
using validation::Job;
using validation::ModelPart;
using validation::wait_policy;
using validation::whole_number;

struct Trial {
    const char* name;
    Holdings (*holdings)(std::size_t ranks);
    device::DType dtype;
};

class GradientExchangeAcrossLayouts : public ::testing::TestWithParam<Trial> {
protected:
    ModelPart part_{GetParam().holdings(Job().ranks()), GetParam().dtype};
};

TEST_P(GradientExchangeAcrossLayouts, AddsTheGradientsOfAllHoldersOnTheOwner) {
    part_.sum(whole_number);

    part_.expect_own_shards(part_.gradients(), part_.sums(whole_number));
}

TEST_P(GradientExchangeAcrossLayouts, AddsInRankOrderInEveryStep) {
    for (int step = 0; step < 3; ++step) {
        part_.sum(fraction);

        part_.expect_own_shards(part_.gradients(), part_.sums(fraction));
    }
}

TEST_P(GradientExchangeAcrossLayouts, GivesEveryHolderTheSums) {
    part_.sum(fraction);

    part_.exchange().all_gather_gradients();

    part_.expect_everywhere(part_.gradients(), part_.sums(fraction));
}

TEST_P(GradientExchangeAcrossLayouts, GivesEveryHolderTheOwnersValues) {
    const auto value = [](const Element& element) { return whole_number(7, element); };
    part_.fill(part_.values(), value);
    part_.overwrite_foreign_elements(part_.values());

    part_.exchange().all_gather_values();

    part_.expect_everywhere(part_.values(), value);
}

TEST_P(GradientExchangeAcrossLayouts, CountsEveryElementOnceInTheNormOfOwnShards) {
    device::Stream stream{device::ReferenceStream{}};
    device::Arena scratch("scratch", 1 << 16, device::MemorySpace::host);
    comm::MpiCommunicator all(MPI_COMM_WORLD, "all", wait_policy);
    part_.sum(whole_number);

    const std::array own{
        optim::compute_sum_of_squares(stream, part_.gradients(), part_.exchange().own_shards(), scratch)};
    const std::vector<double> sums = all_gather(all, own);

    EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0.0), part_.sum_of_squares_of_all(whole_number));
}

std::vector<Trial> in_both_precisions() {
    std::vector<Trial> trials;
    for (const device::DType dtype : {device::DType::f32, device::DType::f64}) {
        trials.push_back({"HeldByAll", validation::held_by_all, dtype});
        trials.push_back({"WholeAndHalves", validation::make_whole_and_halves, dtype});
        trials.push_back({"TiedOnDifferentRanks", validation::make_tied_table, dtype});
        trials.push_back({"HeldTwice", validation::held_twice, dtype});
        trials.push_back({"FusedParts", validation::fused_parts, dtype});
        trials.push_back({"NothingOnTheLast", validation::nothing_on_the_last, dtype});
        trials.push_back({"RingOfNeighbours", validation::ring_of_neighbours, dtype});
    }
    return trials;
}

INSTANTIATE_TEST_SUITE_P(Layouts, GradientExchangeAcrossLayouts, ::testing::ValuesIn(in_both_precisions()),
                         [](const auto& tested) {
                             return cat(tested.param.name, "_", to_string(tested.param.dtype));
                         });

// Every rank first completes the many buckets that it shares with the next rank, more than may be in flight.
// Thus each rank waits for one that began with other buckets.
TEST(GradientExchange, DoesNotStallIfRanksStartWithDifferentBuckets) {
    ModelPart part(validation::ring_of_neighbours(Job().ranks()), device::DType::f32);
    const std::string first = cat("common ", part.job().rank, " ");
    std::vector<std::size_t> order(part.specs().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_partition(
        order, [&](std::size_t parameter) { return part.specs()[parameter].name.starts_with(first); });

    part.sum(whole_number, order);

    part.expect_own_shards(part.gradients(), part.sums(whole_number));
}

TEST(GradientExchange, AddsCorrectlyIfAdvancedBetweenParameters) {
    ModelPart part(validation::held_by_all(Job().ranks()), device::DType::f64);
    comm::MpiCommunicator all(MPI_COMM_WORLD, "all", wait_policy);
    part.exchange().begin_step();
    for (std::size_t parameter = part.specs().size(); parameter-- > 0;) {
        for (int i = 0; i < 50 * part.job().rank; ++i) part.exchange().progress();
        part.fill_gradient(parameter, whole_number);
        part.exchange().mark_complete({parameter});
        if (parameter % 2 == 0) barrier(all);  // some messages have arrived by then
    }

    part.exchange().finish();

    part.expect_own_shards(part.gradients(), part.sums(whole_number));
}

// Buckets have at most 300 rows, which MPI sends by rendezvous. Memory is needed only for the other ranks'
// terms of the own rows, in two slots.
TEST(GradientExchange, SumsLargePiecesWithoutCopyingThem) {
    const std::size_t ranks = Job().ranks();
    Holdings holdings;
    holdings.specs.assign(ranks, {model::make_matrix_spec("large", 600, 100, 1)});
    ModelPart part(holdings, device::DType::f64,
                   {.large_piece_elements = 10'000, .max_bucket_elements = 30'000});

    part.sum(fraction);
    part.exchange().all_gather_gradients();

    part.expect_everywhere(part.gradients(), part.sums(fraction));
    const std::size_t own_rows = (300 + ranks - 1) / ranks;
    constexpr std::size_t cache_line = 64;  // bytes to which each slot is rounded up
    EXPECT_LE(part.exchange().bytes(), 2 * ((ranks - 1) * own_rows * 100 * sizeof(double) + cache_line));
}

TEST(GradientExchange, NeedsNoMemoryIfNoParameterIsShared) {
    Holdings holdings;
    for (int rank = 0; rank < Job().size; ++rank) {
        holdings.specs.push_back({model::make_matrix_spec(cat("layer ", rank), 4, 4, 1)});
    }
    ModelPart part(holdings, device::DType::f32);

    part.sum(whole_number);

    EXPECT_EQ(part.exchange().bytes(), 0);
    EXPECT_EQ(part.exchange().own_shards(), optim::make_whole_shards(part.specs()));
    part.expect_everywhere(part.gradients(),
                           [&](const Element& element) { return whole_number(part.job().rank, element); });
}

}  // namespace
}  // namespace trireme::stage
