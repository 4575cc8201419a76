#include "trireme/stage/gradient_exchange.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/stage/holdings.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {
namespace {

using validation::Element;
using validation::Holdings;

constexpr Patience patience{.stall_seconds = 20};
constexpr BucketRules small_buckets{.large = 12, .largest = 20};

struct Job {
    int rank = 0;
    int size = 0;
    Job() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
};

// A group of its own for each set of holders that this rank is in, made in the order of the buckets.
DataGroups groups_of(const std::vector<Bucket>& buckets, int rank) {
    DataGroups groups;
    for (const auto& [holders, last_use, pieces, shards, elements] : buckets) {
        const bool is_in = std::ranges::find(holders, rank) != holders.end();
        if (holders.size() == 1 || !is_in || groups.contains(holders)) continue;
        groups[holders] = std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, holders, "data", patience);
    }
    return groups;
}

using Number = double (*)(int rank, const Element& element);

// This rank's part of a model that is spread over the job.
class Part {
public:
    Part(Holdings holdings, DType dtype, const BucketRules& rules = small_buckets)
        : holdings_(std::move(holdings)),
          specs_(holdings_.specs[static_cast<std::size_t>(job_.rank)]),
          plan_(validation::plan_of(holdings_, rules)),
          groups_(groups_of(plan_.buckets, job_.rank)),
          values_(specs_, dtype, Place::memory),
          gradients_(specs_, dtype, Place::memory),
          exchange_(plan_, job_.rank, specs_, values_, gradients_, groups_, Place::memory) {}

    // One step's sums; `order` of the parameters is that in which their gradients are complete.
    void sum(Number number, const std::vector<std::size_t>& order) {
        fill(gradients_, [&](const Element& element) { return number(job_.rank, element); });
        exchange_.begin();
        for (const std::size_t parameter : order) exchange_.complete({parameter});
        exchange_.finish();
    }
    void sum(Number number) { sum(number, in_turn()); }

    // Rank 0 in the order of the parameters, others beginning elsewhere, every second one backwards.
    std::vector<std::size_t> in_turn() const {
        std::vector<std::size_t> order(specs_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (order.empty()) return order;
        const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(job_.rank) % order.size());
        std::ranges::rotate(order, order.begin() + first);
        if (job_.rank % 2 == 1) std::ranges::reverse(order);
        return order;
    }

    template <class NumberOf>
    void fill(const ParameterTensors& tensors, NumberOf&& number_of) const {
        for (std::size_t i = 0; i < specs_.size(); ++i) {
            visit_float(tensors[i].dtype, [&](auto zero) {
                const auto elements = tensors[i].as<decltype(zero)>();
                for_each_element(specs_[i], [&](const Element& element, std::size_t r, std::size_t c) {
                    elements(r, c) = static_cast<decltype(zero)>(number_of(element));
                });
            });
        }
    }

    // Expects `expected(element)` of all elements that this rank holds, or of those of its own shards, to the
    // bit.
    template <class Expected>
    void expect(const ParameterTensors& tensors, Expected&& expected, bool of_own_shards_alone = false) const {
        const std::vector<std::vector<bool>> is_own = own_elements();
        for (std::size_t i = 0; i < specs_.size(); ++i) {
            for_each_element(specs_[i], [&](const Element& element, std::size_t r, std::size_t c) {
                if (of_own_shards_alone && !is_own[i][r * specs_[i].columns + c]) return;
                ASSERT_EQ(number_at(tensors[i], r, c), expected(element))
                    << "rank " << job_.rank << ", " << element.tensor << " at " << element.row << ", "
                    << element.column;
            });
        }
    }

    // Added in rank order, as the tensors' type rounds.
    double sum_over_holders(Number number, const Element& element) const {
        double sum = 0;
        visit_float(dtype(), [&](auto zero) {
            auto total = zero;
            for (const int rank : holders_of(holdings_, element)) {
                total += static_cast<decltype(zero)>(number(rank, element));
            }
            sum = total;
        });
        return sum;
    }

    // Of every element that someone holds, once.
    double sum_of_squares_of_all(Number number) const {
        double sum = 0;
        for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
            const HeldTensor& tensor = plan_.tensors[t];
            for (std::size_t e = 0; e < tensor.rows * tensor.columns; ++e) {
                const Element element{tensor.name, e / tensor.columns, e % tensor.columns};
                const double gradient = sum_over_holders(number, element);
                sum += gradient * gradient;
            }
        }
        return sum;
    }

    // Which elements of each parameter lie in own shards; expects none to lie in two.
    std::vector<std::vector<bool>> own_elements() const {
        std::vector<std::vector<bool>> is_own;
        for (const ParameterSpec& spec : specs_) is_own.emplace_back(spec.size());
        for (const auto& [parameter, box] : exchange_.own_shards()) {
            for (std::size_t r = box.rows.begin; r < box.rows.end(); ++r) {
                for (std::size_t c = box.columns.begin; c < box.columns.end(); ++c) {
                    auto is_counted = is_own[parameter][r * specs_[parameter].columns + c];
                    EXPECT_FALSE(is_counted);
                    is_counted = true;
                }
            }
        }
        return is_own;
    }

    DType dtype() const { return specs_.empty() ? DType::f64 : gradients_[0].dtype; }
    const Job& job() const { return job_; }
    const std::vector<ParameterSpec>& specs() const { return specs_; }
    const ParameterTensors& values() const { return values_; }
    const ParameterTensors& gradients() const { return gradients_; }
    const GradientPlan& plan() const { return plan_; }
    GradientExchange& exchange() { return exchange_; }

private:
    static double number_at(const Tensor& tensor, std::size_t row, std::size_t column) {
        return tensor.dtype == DType::f64 ? tensor.as<double>()(row, column)
                                          : static_cast<double>(tensor.as<float>()(row, column));
    }

    Job job_;
    Holdings holdings_;
    const std::vector<ParameterSpec>& specs_;
    GradientPlan plan_;
    DataGroups groups_;
    ParameterTensors values_;
    ParameterTensors gradients_;
    GradientExchange exchange_;
};

struct Trial {
    const char* name;
    Holdings (*holdings)(std::size_t ranks);
    DType dtype;
};

class GradientExchangeOf : public ::testing::TestWithParam<Trial> {
protected:
    static Holdings holdings() { return GetParam().holdings(static_cast<std::size_t>(Job().size)); }

    void spoil_what_others_own() {
        const std::vector<std::vector<bool>> is_own = part_.own_elements();
        for (std::size_t i = 0; i < is_own.size(); ++i) {
            visit_float(GetParam().dtype, [&](auto zero) {
                const auto elements = part_.values()[i].as<decltype(zero)>();
                for (std::size_t e = 0; e < is_own[i].size(); ++e) {
                    if (!is_own[i][e]) elements.data[e] = -1000;
                }
            });
        }
    }

    Part part_{holdings(), GetParam().dtype};
};

TEST_P(GradientExchangeOf, AddsTheGradientsOfAllHoldersOnTheOwner) {
    part_.sum(validation::whole_number);

    part_.expect(
        part_.gradients(),
        [&](const Element& element) { return part_.sum_over_holders(validation::whole_number, element); },
        true);
}

TEST_P(GradientExchangeOf, AddsInRankOrderStepAfterStep) {
    const auto expected = [&](const Element& element) {
        return part_.sum_over_holders(validation::fraction, element);
    };

    for (int step = 0; step < 3; ++step) {
        part_.sum(validation::fraction);
        part_.expect(part_.gradients(), expected, true);
    }
}

TEST_P(GradientExchangeOf, GivesEveryHolderTheSums) {
    part_.sum(validation::fraction);

    part_.exchange().share_gradients();

    part_.expect(part_.gradients(),
                 [&](const Element& element) { return part_.sum_over_holders(validation::fraction, element); });
}

TEST_P(GradientExchangeOf, GivesEveryHolderTheOwnersValues) {
    const auto value = [](const Element& element) { return validation::whole_number(7, element); };
    part_.fill(part_.values(), value);
    spoil_what_others_own();

    part_.exchange().share_values();

    part_.expect(part_.values(), value);
}

TEST_P(GradientExchangeOf, CountsEveryElementOnceInTheNormOfOwnShards) {
    Stream stream{ReferenceStream{}};
    Arena scratch("scratch", 1 << 16, Place::memory);
    MpiCommunicator all(MPI_COMM_WORLD, "all", patience);
    part_.sum(validation::whole_number);

    const std::array own{sum_of_squares(stream, part_.gradients(), part_.exchange().own_shards(), scratch)};
    const std::vector<double> sums = gather_all(all, own);

    EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0.0),
              part_.sum_of_squares_of_all(validation::whole_number));
}

constexpr std::array layouts{
    Trial{"HeldByAll", validation::held_by_all, {}},
    Trial{"WholeBesideHalves", validation::whole_beside_halves, {}},
    Trial{"TiedOnUnlikeRanks", validation::tied_on_unlike_ranks, {}},
    Trial{"HeldTwice", validation::held_twice, {}},
    Trial{"FusedParts", validation::fused_parts, {}},
    Trial{"NothingOnTheLast", validation::nothing_on_the_last, {}},
    Trial{"RingOfNeighbours", validation::ring_of_neighbours, {}},
};

std::vector<Trial> in_both_precisions() {
    std::vector<Trial> trials;
    for (Trial trial : layouts) {
        for (const DType dtype : {DType::f32, DType::f64}) {
            trial.dtype = dtype;
            trials.push_back(trial);
        }
    }
    return trials;
}

INSTANTIATE_TEST_SUITE_P(Layouts, GradientExchangeOf, ::testing::ValuesIn(in_both_precisions()),
                         [](const auto& tested) {
                             return cat(tested.param.name, "_", name_of(tested.param.dtype));
                         });

// Every rank completes first what it shares with the next one, far more than fits in flight, so that each waits
// for one that has begun with something else.
TEST(GradientExchange, DoesNotStallWhereRanksBeginWithUnlikeBuckets) {
    Part part(validation::ring_of_neighbours(static_cast<std::size_t>(Job().size)), DType::f32);
    const std::string first = cat("common ", part.job().rank, " ");
    std::vector<std::size_t> order(part.specs().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_partition(
        order, [&](std::size_t parameter) { return part.specs()[parameter].name.starts_with(first); });

    part.sum(validation::whole_number, order);

    part.expect(
        part.gradients(),
        [&](const Element& element) { return part.sum_over_holders(validation::whole_number, element); }, true);
}

TEST(GradientExchange, GoesOnWhileItIsAdvanced) {
    Part part(validation::held_by_all(static_cast<std::size_t>(Job().size)), DType::f64);
    MpiCommunicator all(MPI_COMM_WORLD, "all", patience);
    part.fill(part.gradients(),
              [&](const Element& element) { return validation::whole_number(part.job().rank, element); });
    part.exchange().begin();
    for (std::size_t parameter = part.specs().size(); parameter-- > 0;) {
        for (int i = 0; i < 50 * part.job().rank; ++i) part.exchange().advance();
        part.exchange().complete({parameter});
        if (parameter % 2 == 0) barrier(all);  // some messages have come by then
    }

    part.exchange().finish();

    part.expect(
        part.gradients(),
        [&](const Element& element) { return part.sum_over_holders(validation::whole_number, element); }, true);
}

// Pieces that travel alone, by rendezvous and from the parameters' own memory.
TEST(GradientExchange, SumsLargePiecesWithoutCopyingThem) {
    Holdings holdings;
    const auto ranks = static_cast<std::size_t>(Job().size);
    holdings.specs.assign(ranks, {matrix_spec("large", 600, 100, 1)});
    Part part(holdings, DType::f64, {.large = 10'000, .largest = 30'000});

    part.sum(validation::fraction);
    part.exchange().share_gradients();

    part.expect(part.gradients(),
                [&](const Element& element) { return part.sum_over_holders(validation::fraction, element); });
    const std::size_t own_rows = (300 + ranks - 1) / ranks;
    EXPECT_LE(part.exchange().bytes(), 2 * ((ranks - 1) * own_rows * 100 * sizeof(double)));
}

TEST(GradientExchange, NeedsNothingWhereEveryRankHoldsItsOwn) {
    Holdings holdings;
    for (int rank = 0; rank < Job().size; ++rank) {
        holdings.specs.push_back({matrix_spec(cat("layer ", rank), 4, 4, 1)});
    }
    Part part(holdings, DType::f32);

    part.sum(validation::whole_number);

    EXPECT_EQ(part.exchange().bytes(), 0);
    EXPECT_EQ(part.exchange().own_shards(), whole_parameters(part.specs()));
    part.expect(part.gradients(),
                [&](const Element& element) { return validation::whole_number(part.job().rank, element); });
}

}  // namespace
}  // namespace trireme
