// Moves parameters, moments and the number of updates between random layouts of a job.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/mover/moving_state.hpp"
#include "ranks/mover/random_layouts.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/session.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme::mover {
namespace {

using validation::make_random_layout;
using validation::MoveOrder;
using validation::MovingRules;
using validation::MovingState;
using validation::sharable;

struct Trial {
    const char* name;
    model::Family family;
    device::DType dtype;
    bool shards_optimizer;
    std::size_t max_elements;  // maximum in flight
};

constexpr std::size_t max_bytes_per_pair = 64;  // for the numbers of updates

class MovedState : public ::testing::TestWithParam<Trial> {
protected:
    // An idle rank keeps no numbers of updates.
    static void expect_initial_updates(const MovingState& state) {
        for (const std::size_t updates : state.updates()) EXPECT_EQ(updates, MovingState::initial_updates);
    }
    layout::Layout layout(std::uint64_t number) const {
        return make_random_layout(number, {.ranks = static_cast<std::size_t>(control_.size()),
                                           .layers = 7,
                                           .max_shares = 4,
                                           .max_replicas = 3});
    }

    MovingState state_at(std::uint64_t number) const { return {rules_, layout(number), control_.rank()}; }

    std::size_t of_all(std::size_t own) {
        std::size_t sum = 0;
        for (const double each : all_gather(control_, std::array{static_cast<double>(own)})) {
            sum += static_cast<std::size_t>(each);
        }
        return sum;
    }

    comm::MpiCommunicator control_{MPI_COMM_WORLD, "control", {.stall_seconds = 20}};
    model::ModelConfig model_ = sharable(GetParam().family, Task::language);
    MovingRules rules_{.model = model_,
                       .dtype = GetParam().dtype,
                       .shards_optimizer = GetParam().shards_optimizer,
                       .move = {.max_elements_per_round = GetParam().max_elements}};
};

TEST_P(MovedState, IsUnchangedAfterEveryMove) {
    MovingState state = state_at(0);
    for (std::uint64_t number = 1; number < 12; ++number) {
        state.move_to(layout(number), control_);

        EXPECT_EQ(state.count_wrong_elements(), 0U) << "layout " << number;
        expect_initial_updates(state);
    }
}

TEST_P(MovedState, IsUnchangedIfMomentsMoveLater) {
    MovingState state = state_at(0);
    for (std::uint64_t number = 1; number < 8; ++number) {
        state.move_to(layout(number), control_, MoveOrder::moments_later);

        EXPECT_EQ(state.count_wrong_elements(), 0U) << "layout " << number;
        expect_initial_updates(state);
    }
}

TEST_P(MovedState, IsUnchangedAfterMovingBack) {
    MovingState state = state_at(1);
    for (std::uint64_t number = 2; number < 6; ++number) {
        state.move_to(layout(number), control_);
        state.move_to(layout(1), control_);

        EXPECT_EQ(state.count_wrong_elements(), 0U);
    }
}

TEST_P(MovedState, NeedsOnlyTheBytesOfMissingElements) {
    MovingState state = state_at(0);
    std::size_t sent = 0;
    for (std::uint64_t number = 1; number < 8; ++number) {
        control_.reset_traffic();
        const std::size_t missing = of_all(state.move_to(layout(number), control_));
        const std::size_t bytes = of_all(control_.traffic().bytes_sent);

        // Besides the state, each rank sends every other rank its numbers of updates. of_all() above sends a
        // number, too.
        const auto others = static_cast<std::size_t>(control_.size()) - 1;
        const std::size_t max_overhead =
            max_bytes_per_pair * others * static_cast<std::size_t>(control_.size());
        EXPECT_GE(bytes, missing * byte_size(GetParam().dtype)) << "layout " << number;
        EXPECT_LE(bytes, missing * byte_size(GetParam().dtype) + max_overhead) << "layout " << number;
        sent += missing;
    }
    EXPECT_GT(sent, 0U);
}

TEST_P(MovedState, IsNotSentIfTheLayoutStaysTheSame) {
    MovingState state = state_at(3);
    control_.reset_traffic();

    state.move_to(layout(3), control_);

    const auto others = static_cast<std::size_t>(control_.size()) - 1;
    EXPECT_LE(control_.traffic().bytes_sent, max_bytes_per_pair * others);
    EXPECT_EQ(state.count_wrong_elements(), 0U);
}

// Assigns the ranks to a given number of nodes, in contiguous runs.
class StagedState : public MovedState {
protected:
    MovingState state_on(int nodes, std::uint64_t number) {
        std::vector<int> own;
        rules_.move.nodes.clear();
        for (int rank = 0; rank < control_.size(); ++rank) {
            rules_.move.nodes.push_back(rank * nodes / control_.size());
            if (rules_.move.nodes.back() == control_.rank() * nodes / control_.size()) own.push_back(rank);
        }
        memory_ = session_.make_node_memory(own, {.stall_seconds = 20});
        return state_at(number);
    }

    int arguments_ = 0;
    char** words_ = nullptr;
    comm::Session session_{arguments_, words_};
    std::unique_ptr<comm::NodeMemory> memory_;
};

TEST_P(StagedState, IsUnchangedAfterEveryMoveThroughNodeMemory) {
    for (const int nodes : {1, 2, control_.size()}) {
        MovingState state = state_on(nodes, 0);
        for (std::uint64_t number = 1; number < 6; ++number) {
            state.move_by_staging(layout(number), control_, *memory_);

            EXPECT_EQ(state.count_wrong_elements(), 0U) << "layout " << number << ", nodes " << nodes;
            expect_initial_updates(state);
        }
    }
}

// On one node the state goes through node memory. Messages carry only the numbers of updates and the number
// of of_all().
TEST_P(StagedState, IsNotSentInMessagesWithinANode) {
    MovingState state = state_on(1, 0);
    control_.reset_traffic();

    const std::size_t missing = of_all(state.move_by_staging(layout(1), control_, *memory_));

    const auto others = static_cast<std::size_t>(control_.size()) - 1;
    EXPECT_LE(control_.traffic().bytes_sent, (max_bytes_per_pair + sizeof(double)) * others);
    EXPECT_GT(missing, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Mover, StagedState,
    ::testing::Values(Trial{"gpt2", model::Family::gpt2, device::DType::f64, true, 1 << 20},
                      Trial{"llamaInF32", model::Family::llama, device::DType::f32, true, 1 << 20},
                      Trial{"unshardedMoments", model::Family::gpt2, device::DType::f64, false, 100}),
    [](const auto& trial) { return std::string(trial.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Mover, MovedState,
    ::testing::Values(Trial{"gpt2", model::Family::gpt2, device::DType::f64, true, 1 << 20},
                      Trial{"gpt2InF32", model::Family::gpt2, device::DType::f32, true, 1 << 20},
                      Trial{"llama", model::Family::llama, device::DType::f64, true, 1 << 20},
                      Trial{"unshardedMoments", model::Family::gpt2, device::DType::f64, false, 1 << 20},
                      Trial{"smallRounds", model::Family::gpt2, device::DType::f64, true, 100}),
    [](const auto& trial) { return std::string(trial.param.name); });

}  // namespace
}  // namespace trireme::mover
