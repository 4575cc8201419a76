// Compares training with an independent implementation, Hugging Face's, through the records in
// validation/reference.
#include <algorithm>

#include "trireme/kernels/fill.hpp"
#include "trireme/optim/optimizer.hpp"
#include "unit/stage/record_trial.hpp"

namespace trireme::stage {
namespace {

using HuggingFace = RecordTest;

TEST_P(HuggingFace, AgreesOnTheLossAndEveryGradient) { expect_within_bars(record_.plain); }

TEST_P(HuggingFace, AgreesOnLabelSmoothingForClassesOnly) {
    RecordedPass expected = record_.plain;
    expected.label_smoothing = 0.1;
    if (record_.config.task == Task::classify) {
        ASSERT_TRUE(record_.smoothed);
        expected = *record_.smoothed;
        ASSERT_GT(std::abs(expected.loss - record_.plain.loss), 1e-3);
    }

    expect_within_bars(expected);
}

TEST_P(HuggingFace, AgreesOnTenStepsOfAdamW) {
    WholeModel stage = loaded_stage(padded_);
    device::Stream stream = machine_.stream();
    const std::vector<optim::ParameterShard> all = optim::make_whole_shards(stage.parameters());
    optim::Optimizer optimizer(record_.optimizer, stage.parameters(), all, machine_.dtype,
                               device::MemorySpace::host);
    device::Arena scratch("norm", 1 << 14, device::MemorySpace::host);
    const auto count = static_cast<double>(record_.terms());
    std::vector<double> losses;
    std::vector<double> norms;

    for (std::size_t step = 0; step < record_.norms.size(); ++step) {
        launch(stream, kernels::Fill{.output = stage.gradients().all(), .value = 0});
        losses.push_back(stage.forward_backward(stream, padded_.batch(), {.loss_scale = 1 / count}) / count);
        norms.push_back(std::sqrt(compute_sum_of_squares(stream, stage.gradients(), all, scratch)));
        optimizer.update(
            stream, stage.values(), stage.gradients(),
            compute_learning_rate(record_.optimizer, static_cast<double>(step), record_.norms.size()),
            optim::compute_clip_scale(norms.back(), record_.optimizer.clip));
    }
    losses.push_back(stage.evaluate(stream, padded_.batch()).loss / count);

    ASSERT_EQ(losses.size(), record_.losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
        EXPECT_LE(error_of({&losses[i], 1}, {&record_.losses[i], 1}),
                  machine_.bar(record_.float32_losses_error))
            << "loss after " << i << " updates";
    }
    for (std::size_t i = 0; i < norms.size(); ++i) {
        EXPECT_LE(error_of({&norms[i], 1}, {&record_.norms[i], 1}), machine_.bar(record_.float32_norms_error))
            << "gradient norm at update " << i + 1;
    }
}

// Returns the element of a tensor on which the loss depends most, to first order.
std::size_t find_most_sensitive_element(const std::vector<double>& weight,
                                        const std::vector<double>& gradient) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) {
        if (std::abs(weight[i] * gradient[i]) > std::abs(weight[found] * gradient[found])) found = i;
    }
    return found;
}

TEST_P(HuggingFace, DisagreesIfOneWeightOfAnyTensorChanges) {
    // A change of one weight by a thousandth moves some models by less than the bar of f32.
    const double factor = machine_.dtype == device::DType::f64 ? 1.001 : 1.1;
    for (const auto& [name, numbers] : record_.weights) {
        const std::vector<double>& gradient = record_.plain.gradients.at(name);
        if (is_only_rounding(record_.plain.gradients, name)) {
            EXPECT_TRUE(is_without_effect(name, record_.config)) << name;
            continue;
        }
        NamedNumbers changed = record_.weights;
        changed[name][find_most_sensitive_element(numbers, gradient)] *= factor;

        const PassErrors errors = pass_errors(record_.plain, changed, packed_);

        EXPECT_GT(errors.worst_ratio(machine_, record_.plain), 1) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Records, HuggingFace, testing::ValuesIn(make_trials(record_names())),
                         [](const auto& trial) { return trial.param.name(); });

TEST(ParameterCount, MatchesGpt2WithTiedAndUntiedHead) {
    model::ModelConfig config = model::find_named_model("gpt2");
    config.tied = true;
    const std::size_t tied = count_parameters(config);
    config.tied = false;
    const std::size_t untied = count_parameters(config);

    EXPECT_EQ(tied, 124'439'808U);
    EXPECT_EQ(untied, 163'037'184U);
}

}  // namespace
}  // namespace trireme::stage
