// The messages that a projection with helper ranks sends equal the formula of help_formula.hpp.
#include <numeric>

#include "ranks/model/help_formula.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

using validation::CountingGroup;
using validation::expected_traffic;
using validation::HelperTraffic;
using validation::make_projection;
using validation::Migrations;
using validation::offloaded_by;
using validation::Phases;
using validation::Sent;

constexpr ProjectionId place{.block = 0, .matmul = layout::Matmul::mlp_in};

// The objects that this rank needs for one call of a projection, and the traffic that it sends during the call.
class Bench {
public:
    Bench(comm::Communicator& world, Family family, InputSharding input_sharding, const Migrations& migrations,
          layout::Spread spread)
        : world_(world),
          projection_(make_projection(family, input_sharding, world.rank(), world.size())),
          values_(projection_.parameters(), device::DType::f64, device::MemorySpace::host),
          gradients_(projection_.parameters(), device::DType::f64, device::MemorySpace::host),
          offloaded_(shapes_of(family, input_sharding), world.rank(), spread),
          resizing_({projection_.make_shape(place)}, Filling::zero, device::DType::f64, rows,
                    device::MemorySpace::host),
          rebalanced_(projection_, place, input_sharding,
                      {.resizing = &resizing_, .offloaded_work = &offloaded_}) {
        std::vector<std::int32_t> all(projection_.make_shape(place).channels);
        std::iota(all.begin(), all.end(), 0);
        resizing_.begin_period(offloaded_.begin_period(migrations, {{place, all}}));
        offloaded_.send_channel_lists(world);
        for (std::size_t i = 0; i < projection_.parameters().size(); ++i) {
            weights_.push_back(values_[i]);
            sums_.push_back(gradients_[i]);
        }
        batch_.tokens = {nullptr, device::DType::i32, 1, rows, rows};
    }

    static constexpr std::size_t rows = 7;

    // Runs the three calls of the projection and returns what this rank sent in each.
    Phases run() {
        const std::size_t channels = projection_.make_shape(place).channels;
        const device::Tensor input = kept_.tensor(device::DType::f64, rows, channels);
        const device::Tensor grad_input = kept_.tensor(device::DType::f64, rows, channels);
        const device::Tensor output = kept_.tensor(device::DType::f64, rows, projection_.output_width());
        const device::Tensor grad_output = kept_.tensor(device::DType::f64, rows, projection_.output_width());
        HelperStates state;
        const Pass pass = this->pass();
        Phases sent;
        sent.forward = count_sent([&] { rebalanced_.forward(pass, weights_, input, output, state, kept_); });
        sent.backward_input = count_sent(
            [&] { rebalanced_.backward_input(pass, weights_, grad_output, grad_input, state, kept_); });
        sent.backward_weight =
            count_sent([&] { rebalanced_.backward_weight(pass, input, grad_output, state, sums_); });
        return sent;
    }

private:
    std::vector<std::vector<ProjectionShape>> shapes_of(Family family, InputSharding input_sharding) const {
        std::vector<std::vector<ProjectionShape>> shapes;
        for (int rank = 0; rank < world_.size(); ++rank)
            shapes.push_back({make_projection(family, input_sharding, rank, world_.size()).make_shape(place)});
        return shapes;
    }
    Pass pass() {
        return {.stream = stream_,
                .batch = batch_,
                .scratch = scratch_,
                .dtype = device::DType::f64,
                .is_training = true,
                .group = &group_};
    }
    template <class Action>
    Sent count_sent(Action&& action) {
        const Sent before = ranks_.sent();
        action();
        return ranks_.sent() - before;
    }

    comm::Communicator& world_;
    CountingGroup ranks_{world_};
    Projection projection_;
    ParameterTensors values_, gradients_;
    std::vector<device::ConstTensor> weights_ = {};
    std::vector<device::Tensor> sums_ = {};
    OffloadedMatmuls offloaded_;
    Resizing resizing_;
    RebalancedProjection rebalanced_;
    device::Stream stream_{.backend = device::ReferenceStream{}};
    TokenBatch batch_;
    device::Arena scratch_{"scratch", 1 << 20, device::MemorySpace::host};
    device::Arena kept_{"kept", 1 << 20, device::MemorySpace::host};
    TensorGroup group_{.communicator = ranks_, .exchange = scratch_};
};

class RebalancedProjectionTraffic : public HelperTraffic {
protected:
    void expect_by_formula(Family family, InputSharding input_sharding) {
        for (const Migrations& migrations : every_migrations()) {
            Phases expected;
            for (int owner = 0; owner < ranks(); ++owner) {
                const ProjectionShape shape =
                    make_projection(family, input_sharding, owner, ranks()).make_shape(place);
                expected += expected_traffic(input_sharding, shape, offloaded_by(migrations, owner, shape),
                                             Bench::rows);
            }
            for (const layout::Spread spread : {layout::Spread::tree, layout::Spread::direct}) {
                SCOPED_TRACE(cat(to_string(family), ", ", migrations.size(), " migrations",
                                 spread == layout::Spread::tree ? " in a tree" : " directly"));
                const Phases sent = Bench(world_, family, input_sharding, migrations, spread).run();

                EXPECT_EQ(of_all_ranks(sent.forward), expected.forward);
                EXPECT_EQ(of_all_ranks(sent.backward_input), expected.backward_input);
                EXPECT_EQ(of_all_ranks(sent.backward_weight), expected.backward_weight);
            }
        }
    }
};

TEST_F(RebalancedProjectionTraffic, MatchesTheFormulaForReplicatedInput) {
    for (const Family family : {Family::gpt2, Family::llama})
        expect_by_formula(family, InputSharding::replicated);
}

TEST_F(RebalancedProjectionTraffic, MatchesTheFormulaForPartitionedInput) {
    for (const Family family : {Family::gpt2, Family::llama}) expect_by_formula(family, InputSharding::sharded);
}

TEST_F(RebalancedProjectionTraffic, IsZeroWithoutHelpers) {
    for (const InputSharding input_sharding : {InputSharding::replicated, InputSharding::sharded}) {
        const Phases sent = Bench(world_, Family::gpt2, input_sharding, {}, layout::Spread::tree).run();

        EXPECT_EQ(sent.forward, Sent{});
        EXPECT_EQ(sent.backward_input, Sent{});
        EXPECT_EQ(sent.backward_weight, Sent{});
    }
}

// In a tree over three or four ranks the owner sends to two of them. With four, one of these two serves the
// last.
TEST_F(RebalancedProjectionTraffic, TakesOneOwnerMessagePerTreeRoundOrDirectHelper) {
    for (const layout::Spread spread : {layout::Spread::tree, layout::Spread::direct}) {
        Bench bench(world_, Family::gpt2, InputSharding::replicated, one_owner(), spread);
        const std::size_t messages = bench.run().backward_input.messages;

        const int tree_rounds = ranks() > 2 ? 2 : 1;
        if (rank() != 1) continue;
        EXPECT_EQ(messages, spread == layout::Spread::direct ? ranks() - 1 : tree_rounds);
    }
}

}  // namespace
}  // namespace trireme::model
