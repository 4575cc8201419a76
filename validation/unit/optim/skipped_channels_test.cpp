// Tests that weight decay may exempt channels that the matmuls of a step skipped.
#include "unit/optim/optimizer_on.hpp"

namespace trireme::optim {
namespace {

class SkippedChannels : public OptimizerBackend {};

// With beta1 = 1/2 and beta2 = 3/4, the gradient 1/2 4 = 2 changes the value 8 by 1/8. Weight decay first
// multiplies by 7/8. Skipped channels miss only the decay; their moments are updated.
TEST_P(SkippedChannels, AreUpdatedWithoutWeightDecay) {
    for (const kernels::WeightAxes axes : {kernels::WeightAxes::in_out, kernels::WeightAxes::out_in}) {
        Optimizer optimizer =
            optimizer_of({.weight_decay = 0.5, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 2, .clip = 0});
        start(8, 4);
        const SkippedChannelMap skipped{{0, {.axes = axes, .channels = {1}}}};

        optimizer.update(stream_, values_, gradients_, 0.25, 0.5, &skipped);

        const bool are_rows = axes == kernels::WeightAxes::in_out;
        EXPECT_EQ(numbers_of(values_[0]),
                  are_rows ? (Numbers{6.875, 6.875, 7.875, 7.875}) : (Numbers{6.875, 7.875, 6.875, 7.875}));
        EXPECT_EQ(vector(), 7.875);
        EXPECT_EQ(numbers_of(optimizer.state()[0][0]), Numbers(4, 1));
    }
}

TEST_P(SkippedChannels, AffectOnlyShardsThatHoldThem) {
    for (const kernels::WeightAxes axes : {kernels::WeightAxes::in_out, kernels::WeightAxes::out_in}) {
        const bool are_rows = axes == kernels::WeightAxes::in_out;
        const layout::Box second = are_rows ? layout::Box{{1, 1}, {0, 2}} : layout::Box{{0, 2}, {1, 1}};
        Optimizer optimizer({.kind = OptimizerKind::sgd, .weight_decay = 0.5, .momentum = 0}, matrix_and_vector,
                            {{0, second}}, GetParam().dtype, device::MemorySpace::host);
        const Numbers spared = are_rows ? Numbers{4, 4, 3.5, 3.5} : Numbers{4, 3.5, 4, 3.5};
        const Numbers decayed = are_rows ? Numbers{4, 4, 3, 3} : Numbers{4, 3, 4, 3};

        for (const std::int32_t channel : {0, 1}) {
            const SkippedChannelMap skipped{{0, {.axes = axes, .channels = {channel}}}};
            start(4, 2);
            optimizer.update(stream_, values_, gradients_, 0.25, 1, &skipped);
            EXPECT_EQ(numbers_of(values_[0]), channel == 1 ? spared : decayed);
        }
    }
}

TEST_P(SkippedChannels, GiveTheSameBitsForShardsOfRowsOrColumns) {
    const OptimizerConfig config{.kind = OptimizerKind::adamw, .weight_decay = 0.5};
    const std::vector<ParameterShard> all = make_whole_shards(uneven);
    for (const kernels::WeightAxes axes : {kernels::WeightAxes::in_out, kernels::WeightAxes::out_in}) {
        const SkippedChannelMap skipped{{0, {.axes = axes, .channels = {0, 1, 2, 5, 19, 20, 36}}}};
        const SkippedChannelMap nothing{{0, {.axes = axes}}};
        const std::vector<Numbers> expected = updated(config, GetParam(), all, Mistakes::none, &skipped);

        EXPECT_EQ(updated(config, GetParam(), by_rows(), Mistakes::none, &skipped), expected);
        EXPECT_EQ(updated(config, GetParam(), by_columns(), Mistakes::none, &skipped), expected);
        EXPECT_NE(updated(config, GetParam(), all), expected);
        EXPECT_EQ(updated(config, GetParam(), all, Mistakes::none, &nothing), updated(config, GetParam(), all));
    }
}

INSTANTIATE_TEST_SUITE_P(Machines, SkippedChannels, ::testing::ValuesIn(every_machine()), name_of_machine);

}  // namespace
}  // namespace trireme::optim
