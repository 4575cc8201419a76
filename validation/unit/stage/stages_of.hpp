// A small model as stages on one team or on each of two, and the same model unsplit, for comparison.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string_view>

#include "trireme/stage/local_stages.hpp"
#include "unit/stage/small_models.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {

inline constexpr std::size_t layers_before_the_cut = 3;  // the embedding and the first block

inline schedule::Program program_of(std::string_view text) {
    schedule::Program program;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        program.push_back(schedule::parse_instruction(text.substr(begin, end - begin), "the test"));
        begin = end + 1;
    }
    return program;
}

// Returns the shape of both stages of a model on one team, or of one stage on each of two teams.
inline schedule::PipelineShape make_shape(int teams, int microbatches, bool is_training = true) {
    return schedule::make_grid_shape(teams, 1, 2 / teams, microbatches, is_training);
}

// Calls a function at each update.
class UpdateCall final : public StepEvents {
public:
    explicit UpdateCall(std::function<void()> call) : call_(std::move(call)) {}
    void update(int /*step*/) override { call_(); }
    bool validate(int /*step*/) override { return true; }

private:
    std::function<void()> call_;
};

// Fixture with a small model and three micro-batches of one sample each; the first one is the longest.
class ModelStages : public testing::TestWithParam<SmallModel> {
protected:
    ModelStages() {
        for (std::int64_t visit = 0; visit < 3; ++visit) {
            const auto length = static_cast<std::size_t>(9 - visit);
            rows_.emplace_back(std::array{make_sample(config_, visit, length)});
        }
        for (const TokenRows& rows : rows_) batches_.push_back(rows.batch());
    }

    LocalWork make_local_work(int team, std::vector<int> stages) const {
        const std::size_t all = build_layers(config_).size();
        const std::array<layout::Range, 2> layers{
            layout::Range{0, layers_before_the_cut},
            layout::Range{layers_before_the_cut, all - layers_before_the_cut}};
        LocalWork work{.model = config_,
                       .stages = std::move(stages),
                       .team = team,
                       .variant = {.dtype = device::DType::f64}};
        for (const int stage : work.stages)
            work.specs.push_back({.layers = layers[static_cast<std::size_t>(stage)]});
        return work;
    }

    // Sets the weights to those of scatter_weights().
    void take_weights(const LocalStages& stages) const {
        WholeModel whole = make_stage(config_, device::DType::f64, rows_[0].shape());
        scatter_weights(whole);
        NamedNumbers weights;
        for (std::size_t i = 0; i < whole.parameters().size(); ++i) {
            weights[whole.parameters()[i].name] = numbers_of(whole.values()[i]);
        }
        const LocalParameters& held = stages.parameters();
        for (std::size_t i = 0; i < held.specs().size(); ++i) {
            set_numbers(held.values()[i], weights.at(held.specs()[i].name));
        }
    }

    Execution round_of(const schedule::PipelineShape& shape, const schedule::Program& program) const {
        return {.shape = shape,
                .program = program,
                .dropout_key = RandomKey{77},
                .label_smoothing = shape.is_training ? 0.1 : 0};
    }

    // Returns the work of a step that consists of the first micro-batches.
    StepWork make_step(const Execution& round) const {
        StepWork work{.batches = {}, .loss_scale = 0.25};
        for (int m = 0; m < round.shape.microbatches; ++m) {
            work.batches.push_back(&batches_[static_cast<std::size_t>(m)]);
        }
        return work;
    }

    void begin(LocalStages& stages, const Execution& round) {
        stages.begin(stream_, round);
        stages.add_step(make_step(round));
    }

    void run_all(LocalStages& stages, const Execution& round) { run_all(stages, round, make_step(round)); }
    void run_all(LocalStages& stages, const Execution& round, const StepWork& work) {
        stages.begin(stream_, round);
        stages.add_step(work);
        for (const schedule::Instruction& instruction : round.program) stages.run(instruction);
    }

    // Trains the whole model on the first micro-batches, one after the other.
    void train_whole(WholeModel& whole, std::size_t microbatches, std::vector<double>& losses) {
        scatter_weights(whole);
        for (std::size_t m = 0; m < microbatches; ++m) {
            const PassOptions options{.dropout_key = RandomKey{77}, .loss_scale = 0.25, .label_smoothing = 0.1};
            losses.push_back(whole.forward_backward(stream_, batches_[m], options));
        }
    }

    static NamedNumbers read_gradients(const LocalStages& stages, std::size_t copy = 0) {
        NamedNumbers gradients;
        const LocalParameters& held = stages.parameters();
        for (std::size_t i = 0; i < held.specs().size(); ++i) {
            gradients[held.specs()[i].name] = numbers_of(held.gradients(copy)[i]);
        }
        return gradients;
    }

    static std::vector<double> losses_of(const LocalStages& stages) {
        std::vector<double> losses;
        for (const auto& [microbatch, outcome] : stages.outcomes(0)) losses.push_back(outcome.loss);
        return losses;
    }

    device::Stream stream_{.backend = device::ReferenceStream{}};
    const model::ModelConfig config_ = config_of(GetParam());
    std::vector<TokenRows> rows_;
    std::vector<model::TokenBatch> batches_;
};

}  // namespace trireme::stage
