// Compares whole models whose projections skip channels with dense models whose weights are zero there.
#include <array>

#include "trireme/stage/local_stages.hpp"
#include "unit/stage/masked_weights.hpp"
#include "unit/stage/small_models.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {
namespace {

struct ResizingTrial {
    const char* name;
    device::Stream stream;
    device::DType dtype;
    double bar;
    SmallModel model;

    friend void PrintTo(const ResizingTrial& trial, std::ostream* out) {
        *out << trial.name << "_" << trial.model.name;
    }
};

std::vector<ResizingTrial> every_resizing_trial() {
    std::vector<ResizingTrial> trials;
    for (const SmallModel& model : list_small_models()) {
        trials.push_back(
            {"reference_f64", {.backend = device::ReferenceStream{}}, device::DType::f64, 1e-12, model});
        trials.push_back({"cpu_f64", {.backend = device::CpuStream{}}, device::DType::f64, 1e-12, model});
        trials.push_back({"cpu_f32", {.backend = device::CpuStream{}}, device::DType::f32, 1e-5, model});
    }
    return trials;
}

// Returns a model wide enough to skip tiles of every projection.
model::ModelConfig wide(const SmallModel& model) {
    model::ModelConfig config = config_of(model);
    config.width = 32;
    config.heads = 4;
    config.mlp_width = 48;
    return config;
}

class ResizedModel : public testing::TestWithParam<ResizingTrial> {
protected:
    ResizedModel() : rows_(samples_of(config_)) {}

    static std::array<TokenSample, 2> samples_of(const model::ModelConfig& config) {
        return {make_sample(config, 3, 7), make_sample(config, 4, 9)};
    }

    StageSpec spec(plan::Recompute recompute = plan::Recompute::none) const {
        return {.layers = {0, build_layers(config_).size()}, .part = {}, .recompute = recompute};
    }
    std::vector<model::ProjectionShape> projections() const { return list_projections(config_, {spec()}); }

    StageMemory predict_memory(double limit, plan::Recompute recompute, BackwardHalves halves) const {
        return predict(config_, spec(recompute), rows_.shape(),
                       {.dtype = GetParam().dtype, .halves = halves, .resizing_limit = limit});
    }

    WholeModel model_of(plan::Recompute recompute = plan::Recompute::none,
                        BackwardHalves halves = BackwardHalves::together) const {
        WholeModel model(config_, GetParam().dtype, device::MemorySpace::host,
                         predict_memory(0.5, recompute, halves), recompute);
        scatter_weights(model);
        return model;
    }

    model::Resizing resizing_of(const model::Resizing::ChannelLists& lists,
                                model::Filling filling = model::Filling::zero) const {
        model::Resizing resizing(projections(), filling, GetParam().dtype, rows_.shape().rows,
                                 device::MemorySpace::host);
        resizing.begin_period(lists);
        return resizing;
    }

    double train(WholeModel& model, model::Resizing* resizing,
                 BackwardHalves halves = BackwardHalves::together) {
        if (resizing != nullptr) model.rebalance({.resizing = resizing});
        return model.forward_backward(stream_, rows_.batch(), {.dropout_key = RandomKey{77}}, halves);
    }

    Masks masks_of(const model::Resizing::ChannelLists& lists) const {
        Masks masks;
        add_masks(projections(), lists, masks);
        return masks;
    }

    void mask_weights(WholeModel& model, const Masks& masks) const {
        for (std::size_t i = 0; i < model.parameters().size(); ++i) {
            std::vector<double> numbers = numbers_of(model.values()[i]);
            apply_mask(masks, model.parameters()[i].name, numbers);
            set_numbers(model.values()[i], numbers);
        }
    }

    static double flops_of(const device::Stream& stream, std::string_view kernel) {
        double sum = 0;
        for (const device::Ledger::Entry& entry : stream.ledger.entries())
            sum += entry.total_cost.kernel == kernel ? entry.total_cost.flops : 0;
        return sum;
    }

    device::Stream stream_ = GetParam().stream;
    const model::ModelConfig config_ = wide(GetParam().model);
    TokenRows rows_;
};

TEST_P(ResizedModel, MatchesADenseModelWithMaskedWeights) {
    const model::Resizing::ChannelLists lists = scattered_lists(projections());
    ASSERT_EQ(lists.size(), 4 * config_.layers);
    const Masks masks = masks_of(lists);
    WholeModel masked = model_of();
    mask_weights(masked, masks);
    const double loss = train(masked, nullptr);
    NamedNumbers expected = read_gradients(masked);
    for (auto& [name, numbers] : expected) apply_mask(masks, name, numbers);

    for (const plan::Recompute recompute :
         {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
        for (const BackwardHalves halves : {BackwardHalves::together, BackwardHalves::apart}) {
            if (recompute == plan::Recompute::full && halves == BackwardHalves::apart) continue;
            SCOPED_TRACE(cat(to_string(recompute), halves == BackwardHalves::apart ? ", halves apart" : ""));
            WholeModel model = model_of(recompute, halves);
            model::Resizing resizing = resizing_of(lists);

            EXPECT_NEAR(train(model, &resizing, halves), loss, GetParam().bar * loss);
            for (const auto& [name, numbers] : read_gradients(model)) {
                const bool is_rounding = is_without_effect(name, config_);
                const double floor = is_rounding ? norm_of(expected) : gradient_floor(expected, name);
                EXPECT_LE(error_of(numbers, expected.at(name), floor), GetParam().bar) << name;
            }
        }
    }
}

TEST_P(ResizedModel, ChangesNoBitAndAddsNoKernelIfNothingIsSkipped) {
    WholeModel dense = model_of(), same = model_of();
    model::Resizing::ChannelLists all;
    for (const model::ProjectionShape& projection : projections()) {
        for (std::size_t c = 0; c < projection.channels; ++c)
            all[projection.id].push_back(static_cast<std::int32_t>(c));
    }
    model::Resizing resizing = resizing_of(all);
    const auto calls = [&] {
        std::size_t sum = 0;
        for (const device::Ledger::Entry& entry : stream_.ledger.entries()) sum += entry.calls;
        stream_.ledger.clear();
        return sum;
    };

    const double loss = train(dense, nullptr);
    const std::size_t dense_calls = calls();

    EXPECT_EQ(train(same, &resizing), loss);
    EXPECT_EQ(calls(), dense_calls);
    EXPECT_EQ(read_gradients(same), read_gradients(dense));
    EXPECT_EQ(same.peak().scratch, dense.peak().scratch);
}

// Every projection skips 8 channels in three matmuls over all rows.
TEST_P(ResizedModel, SavesTheMultiplicationsOfSkippedChannels) {
    model::Resizing resizing = resizing_of(scattered_lists(projections()));
    double outputs = 0;
    for (const model::ProjectionShape& projection : projections())
        outputs += static_cast<double>(projection.outputs());
    const double saved = 2 * static_cast<double>(rows_.shape().rows) * 8 * outputs;
    device::Stream dense = stream_, resized = stream_;

    model_of().forward_backward(dense, rows_.batch(), {});
    WholeModel pruned = model_of();
    pruned.rebalance({.resizing = &resizing});
    pruned.forward_backward(resized, rows_.batch(), {});

    for (const char* const kernel : {"linear", "linear_backward_input", "linear_backward_weight"})
        EXPECT_EQ(flops_of(resized, kernel), flops_of(dense, kernel) - saved) << kernel;
}

// The smallest number of skipped channels, one tile, needs the most memory.
TEST_P(ResizedModel, UsesTheMemoryPredictedForItsLimit) {
    for (const plan::Recompute recompute :
         {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
        for (const BackwardHalves halves : {BackwardHalves::together, BackwardHalves::apart}) {
            if (recompute == plan::Recompute::full && halves == BackwardHalves::apart) continue;
            SCOPED_TRACE(cat(to_string(recompute), halves == BackwardHalves::apart ? ", halves apart" : ""));
            const StageMemory predicted = predict_memory(0.5, recompute, halves);
            for (const std::size_t tiles : {0, 1, 2}) {
                WholeModel model = model_of(recompute, halves);
                model::Resizing resizing = resizing_of(scattered_lists(projections(), tiles));
                train(model, &resizing, halves);
                model.evaluate(stream_, rows_.batch());

                if (tiles == 1) {
                    EXPECT_EQ(model.peak().scratch, predicted.scratch);
                } else {
                    EXPECT_LE(model.peak().scratch, predicted.scratch);
                }
                EXPECT_EQ(model.peak().activations, predicted.activations);
                EXPECT_EQ(model.peak().block_activations, predicted.block_activations);
            }
            const StageMemory dense = predict_memory(0, recompute, halves),
                              little = predict_memory(0.05, recompute, halves);
            EXPECT_LE(dense.scratch, predicted.scratch);
            EXPECT_EQ(dense.scratch, little.scratch);  // less than a tile
            EXPECT_EQ(dense.activations, predicted.activations);
        }
    }
}

// The two passes skip different channels. With Filling::same the second pass adds the remembered gradients of
// the first one for the channels that it skips. It then adds the same gradient of the last layer's last matrix
// as a dense pass.
TEST_P(ResizedModel, AddsRememberedGradientsForSkippedChannels) {
    const model::ProjectionId last{.block = config_.layers - 1, .matmul = layout::Matmul::mlp_out};
    model::Resizing::ChannelLists even, odd;
    for (std::int32_t c = 0; c < 48; ++c) (c % 2 == 0 ? even : odd)[last].push_back(c);
    const std::string name = projections().back().weights.front().name;
    const auto gradient_by = [&](std::initializer_list<model::Resizing::ChannelLists> each,
                                 model::Filling filling) {
        WholeModel model = model_of();
        model::Resizing resizing = resizing_of({}, filling);
        for (const model::Resizing::ChannelLists& lists : each) {
            resizing.begin_period(lists);
            train(model, &resizing);
        }
        return read_gradients(model).at(name);
    };

    std::vector<double> expected =
        gradient_by({even}, model::Filling::zero);  // gradients of even channels, twice
    const std::vector<double> rest = gradient_by({odd}, model::Filling::zero);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 2 * expected[i] + rest[i];

    EXPECT_LE(error_of(gradient_by({even, odd}, model::Filling::same), expected), GetParam().bar);
    EXPECT_GT(error_of(gradient_by({even, odd}, model::Filling::zero), expected), 0.01);
}

// Two micro-batches run with whole backward passes, with halves of them, and in an evaluation.
TEST_P(ResizedModel, SkipsTheSameChannelsInEveryScheduleButNotInEvaluation) {
    model::Resizing resizing = resizing_of(scattered_lists(projections()));
    WholeModel whole = model_of(), dense = model_of();
    for (int repeat = 0; repeat < 2; ++repeat) train(whole, &resizing);
    const model::LossState evaluated = dense.evaluate(stream_, rows_.batch());
    const LocalWork work{.model = config_,
                         .stages = {0},
                         .specs = {spec()},
                         .variant = {.dtype = GetParam().dtype, .resizing_limit = 0.5}};
    const model::TokenBatch batch = rows_.batch();

    for (const char* const text :
         {"0F0 0F1 0B1 0B0 REDUCE0 STEP0", "0F0 0F1 0I0 0I1 0W0 0W1 REDUCE0 STEP0", "0F0 0F1"}) {
        SCOPED_TRACE(text);
        LocalStages stages(work, nullptr, device::MemorySpace::host);
        stages.rebalance({.resizing = &resizing});
        for (std::size_t i = 0; i < stages.parameters().specs().size(); ++i)
            set_numbers(stages.parameters().values()[i], numbers_of(dense.values()[i]));
        schedule::Program program;
        for (std::size_t at = 0, end = 0; end != std::string_view::npos; at = end + 1) {
            end = std::string_view(text).find(' ', at);
            program.push_back(
                schedule::parse_instruction(std::string_view(text).substr(at, end - at), "the test"));
        }
        const bool is_training = program.size() > 2;
        const schedule::PipelineShape shape = schedule::make_grid_shape(1, 1, 1, 2, is_training);
        const Execution round{.shape = shape, .program = program, .dropout_key = RandomKey{77}};
        stages.begin(stream_, round);
        stages.add_step({.batches = {&batch, &batch}});
        for (const schedule::Instruction& instruction : program) stages.run(instruction);

        if (is_training) {
            const NamedNumbers expected = read_gradients(whole);
            for (std::size_t i = 0; i < stages.parameters().specs().size(); ++i) {
                EXPECT_EQ(numbers_of(stages.parameters().gradients()[i]),
                          expected.at(stages.parameters().specs()[i].name));
            }
        } else {
            EXPECT_EQ(stages.outcomes(0).at(0).loss, evaluated.loss);
            EXPECT_EQ(stages.outcomes(0).at(1).choices, evaluated.choices);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, ResizedModel, testing::ValuesIn(every_resizing_trial()),
                         [](const auto& trial) { return testing::PrintToString(trial.param); });

std::size_t count_calls(const device::Stream& stream, std::string_view kernel) {
    std::size_t sum = 0;
    for (const device::Ledger::Entry& entry : stream.ledger.entries())
        sum += entry.total_cost.kernel == kernel ? entry.calls : 0;
    return sum;
}

// A ghost walks a pass once and charges it from then on. In a new period only a training pass is walked again.
TEST(GhostPasses, AreWalkedAgainForTrainingInANewPeriod) {
    const model::ModelConfig config = wide(list_small_models().front());
    const TokenRows rows(std::array{make_sample(config, 0, 9)});
    const StageSpec spec{.layers = {1, 2}};
    Stage stage(config, spec);
    const LocalParameters parameters(stage.parameters(), device::DType::f32, device::MemorySpace::ghost);
    stage.bind(parameters);
    Workspace workspace({}, device::MemorySpace::ghost);
    ActivationStash stash(0, device::MemorySpace::ghost);
    device::Stream stream{.backend = device::GhostStream{}};
    const model::TokenBatch batch = rows.batch();
    model::Resizing resizing(stage.projections(), model::Filling::zero, device::DType::f32, rows.shape().rows,
                             device::MemorySpace::ghost);
    GhostPasses passes(workspace, nullptr);
    stage.rebalance({.resizing = &resizing});
    passes.rebalance({.resizing = &resizing});
    const PassEvents events;
    const auto walks = [&](bool is_training) {
        const std::size_t before = count_calls(stream, "linear");
        const model::Pass pass{
            .stream = stream, .batch = batch, .scratch = workspace.scratch, .is_training = is_training};
        stash.clear();
        passes.forward({{schedule::Op::forward, 0}, stage, pass, stash, events},
                       {nullptr, device::DType::f32, 9, 32, 32});
        return count_calls(stream, "linear") > before;
    };

    EXPECT_TRUE(walks(true));
    EXPECT_TRUE(walks(false));
    EXPECT_FALSE(walks(true));
    resizing.begin_period(scattered_lists(stage.projections()));
    EXPECT_TRUE(walks(true));
    EXPECT_FALSE(walks(true));
    EXPECT_FALSE(walks(false));
}

}  // namespace
}  // namespace trireme::stage
