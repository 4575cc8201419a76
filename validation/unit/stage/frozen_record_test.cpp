// Compares training with a depth of its own in each step, rising and falling, with PyTorch.
#include <memory>

#include "trireme/comm/communicator.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/rank/state_moves.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "unit/stage/record_trial.hpp"

namespace trireme::stage {
namespace {

// A model on one rank, whose depth changes between steps by a change of plan.
class FrozenModel {
public:
    FrozenModel(const ModelRecord& record, device::DType dtype, const TokenRows& rows, device::Stream& stream)
        : record_(record), dtype_(dtype), rows_(rows), stream_(stream) {
        change_depth(0);
        load_weights(*model_, record.weights);
    }

    WholeModel& model() { return *model_; }
    optim::Optimizer& optimizer() { return *optimizer_; }

    void change_depth(int frozen) {
        const std::size_t layers = build_layers(record_.config).size();
        const plan::Plan plan =
            plan::make_plan({.layout = layout::make_grid_layout({}, {layers}), .frozen = frozen});
        const std::vector<BatchShape> no_shapes;
        const GradientPlan gradients = setup::make_gradient_plan({record_.config, plan, dtype_, no_shapes});
        const StageMemory memory = predict(record_.config, dtype_, rows_.shape());
        std::optional<model::ParameterTensors> values;
        if (model_) values = model_->local_parameters().take_values();
        auto model =
            std::make_unique<WholeModel>(record_.config, dtype_, device::MemorySpace::host, memory,
                                         plan::Recompute::none, plan.first_trained_layer(), std::move(values));
        auto optimizer = std::make_unique<optim::Optimizer>(record_.optimizer, model->parameters(),
                                                            optim::make_whole_shards(model->parameters()),
                                                            dtype_, device::MemorySpace::host);
        if (model_) {
            rank::RankState state{.specs = model_->parameters(),
                                  .shards = optimizer_->shards(),
                                  .optimizer_state = optimizer_->take_state(),
                                  .updates = optimizer_->updates()};
            const rank::StateDestination to{&model->local_parameters(), optimizer.get(), &stream_};
            move_state(std::move(state), to, rank::plan_state_moves({plan_, gradients_}, {plan, gradients}, {}),
                       dtype_, *group_);
        }
        model_ = std::move(model);
        optimizer_ = std::move(optimizer);
        plan_ = plan;
        gradients_ = gradients;
    }

private:
    const ModelRecord& record_;
    device::DType dtype_;
    const TokenRows& rows_;
    device::Stream& stream_;
    std::unique_ptr<comm::Communicator> group_ = comm::make_single_rank_group("control");
    plan::Plan plan_;
    GradientPlan gradients_;
    std::unique_ptr<WholeModel> model_;
    std::unique_ptr<optim::Optimizer> optimizer_;
};

using FrozenRecord = RecordTest;

TEST_P(FrozenRecord, AgreesOnTenStepsAtChangingDepths) {
    const RecordedDepths& expected = record_.frozen;
    device::Stream stream = machine_.stream();
    FrozenModel frozen(record_, machine_.dtype, padded_, stream);
    device::Arena scratch("norm", 1 << 14, device::MemorySpace::host);
    const auto count = static_cast<double>(record_.terms());
    std::vector<double> losses;
    std::vector<double> norms;

    for (std::size_t step = 0; step < expected.depths.size(); ++step) {
        frozen.change_depth(expected.depths[step]);
        WholeModel& model = frozen.model();
        launch(stream, kernels::Fill{.output = model.gradients().all(), .value = 0});
        losses.push_back(model.forward_backward(stream, padded_.batch(), {.loss_scale = 1 / count}) / count);
        norms.push_back(
            std::sqrt(compute_sum_of_squares(stream, model.gradients(), frozen.optimizer().shards(), scratch)));
        frozen.optimizer().update(
            stream, model.values(), model.gradients(),
            compute_learning_rate(record_.optimizer, static_cast<double>(step), expected.depths.size()),
            optim::compute_clip_scale(norms.back(), record_.optimizer.clip));
    }
    losses.push_back(frozen.model().evaluate(stream, padded_.batch()).loss / count);

    ASSERT_EQ(losses.size(), expected.losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_LE(error_of({&losses[i], 1}, {&expected.losses[i], 1}),
                  machine_.bar(expected.float32_losses_error))
            << "loss after " << i << " updates";
    for (std::size_t i = 0; i < norms.size(); ++i)
        EXPECT_LE(error_of({&norms[i], 1}, {&expected.norms[i], 1}), machine_.bar(expected.float32_norms_error))
            << "gradient norm at update " << i + 1;
}

INSTANTIATE_TEST_SUITE_P(Records, FrozenRecord, testing::ValuesIn(make_trials(record_names())),
                         [](const auto& trial) { return trial.param.name(); });

}  // namespace
}  // namespace trireme::stage
