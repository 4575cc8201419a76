// Checks values in whole models of every family, which together call every operation of a training step.
#include "trireme/kernels/value_check.hpp"

#include <cmath>
#include <limits>

#include "unit/stage/small_models.hpp"

namespace trireme::stage {
namespace {

class ModelValueCheck : public testing::TestWithParam<Trial> {
protected:
    ModelValueCheck() {
        stream_.check = &check_;
        scatter_weights(model_);
    }

    void train(BackwardHalves halves = BackwardHalves::together) {
        model_.forward_backward(stream_, rows_.batch(), {.dropout_key = RandomKey{77}}, halves);
    }

    const model::ModelConfig config_ = config_of(GetParam().model);
    // Two samples, with padding between them.
    const TokenRows rows_{std::array{make_sample(config_, 3, 5), make_sample(config_, 4, 9)},
                          config_.reads_images() ? 0U : 9U};
    device::Stream stream_ = GetParam().stream;
    WholeModel model_{
        config_, device::DType::f32, device::MemorySpace::host,
        elementwise_max(predict(config_, device::DType::f32, rows_.shape()),
                        predict(config_, device::DType::f32, rows_.shape(), BackwardHalves::apart))};
    kernels::ValueCheck check_;
};

TEST_P(ModelValueCheck, FindsNothingIfAllValuesAreFinite) {
    train();
    train(BackwardHalves::apart);
    model_.evaluate(stream_, rows_.batch());

    EXPECT_FALSE(check_.finding()) << check_.finding()->kernel << " in " << check_.finding()->context.layer;
}

// Every parameter is tested in turn.
TEST_P(ModelValueCheck, FindsTheLayerThatReadsANanParameter) {
    for (std::size_t p = 0; p < model_.parameters().size(); ++p) {
        const std::string& name = model_.parameters()[p].name;
        SCOPED_TRACE(name);
        scatter_weights(model_);
        const device::Tensor values = model_.values()[p];
        for (std::size_t r = 0; r < values.rows; ++r)
            values.as<float>()(r, 0) = std::numeric_limits<float>::quiet_NaN();
        kernels::ValueCheck check;
        stream_.check = &check;

        train();

        ASSERT_TRUE(check.finding());
        const kernels::NonFiniteOutput& found = *check.finding();
        ASSERT_TRUE(found.input) << found.kernel << " in " << found.context.layer;
        const auto* const begin = static_cast<const std::byte*>(values.data);
        const auto* const read = static_cast<const std::byte*>(found.input->data);
        EXPECT_TRUE(begin <= read && read < begin + values.bytes())
            << found.input->tensor_name << " of " << found.kernel;
        const std::size_t block =
            name.find_first_of("01");  // position of the block's number, if a block has the parameter
        if (block == std::string::npos) continue;
        EXPECT_EQ(found.context.layer.rfind(name.substr(0, block + 2), 0), 0U) << found.context.layer;
    }
}

INSTANTIATE_TEST_SUITE_P(All, ModelValueCheck, testing::ValuesIn(every_trial()), [](const auto& trial) {
    return std::string(trial.param.name) + '_' + trial.param.model.name;
});

}  // namespace
}  // namespace trireme::stage
