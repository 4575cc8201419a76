#include "equivalence/replay.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/data/sample_index.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/rank/batch_view.hpp"
#include "trireme/rank/rank_model.hpp"
#include "unit/stage/stage_numbers.hpp"
#include "whole_model.hpp"

namespace trireme::equivalence {
namespace {

using Shards = std::vector<optim::ParameterShard>;

constexpr std::size_t bytes_for_square = 64;  // per parameter: more than a number with its alignment

stage::StageMemory memory_for(const setup::Job& job, const setup::PlanState& state) {
    stage::StageMemory memory;
    for (const stage::BatchShape& shape : state.largest_microbatches) {
        memory = elementwise_max(memory, predict(job.model, job.dtype, shape));
    }
    return memory;
}

std::size_t stage_of_layer(const layout::Layout& layout, std::size_t layer) {
    const auto holds = [&](const layout::StageLayout& stage) { return layer < stage.layers.end(); };
    return static_cast<std::size_t>(std::ranges::find_if(layout.stages, holds) - layout.stages.begin());
}

// Returns per stage the trained parameters that its layers are the first to use.
std::vector<Shards> shards_of_stages(const model::ModelConfig& model, const layout::Layout& layout,
                                     const std::vector<model::ParameterSpec>& specs) {
    std::vector<Shards> stages(layout.stages.size());
    std::vector<bool> has_stage;
    for (const model::ParameterSpec& spec : specs) has_stage.push_back(!spec.is_trained);
    const std::vector<model::Layer> layers = build_layers(model);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        for (const model::ParameterSpec& used : list_parameters(layers[layer])) {
            const auto at = std::ranges::find(specs, used.name, &model::ParameterSpec::name) - specs.begin();
            const auto number = static_cast<std::size_t>(at);
            if (has_stage[number]) continue;
            has_stage[number] = true;
            stages[stage_of_layer(layout, layer)].push_back(
                {number, {{0, specs[number].rows}, {0, specs[number].columns}}});
        }
    }
    return stages;
}

std::vector<plan::SampleVisit> every_sample(std::size_t count) {
    std::vector<plan::SampleVisit> visits(count);
    for (std::size_t s = 0; s < count; ++s) visits[s].sample = s;
    return visits;
}

class Replay {
public:
    Replay(const setup::Job& job, const setup::PlanState& state, const ReplayRule& rule)
        : job_(job),
          state_(state),
          rule_(rule),
          stream_(rank::make_stream(job.config.precision.device, 1)),
          model_(job.model, job.dtype, device::MemorySpace::host, memory_for(job, state), plan::Recompute::none,
                 state.plan.first_trained_layer()),
          sampler_(job.samples.train.size(), job.config.run.seed, job.config.data.order),
          scratch_("norm", model_.parameters().size() * bytes_for_square, device::MemorySpace::host),
          shards_(shards_of_stages(job.model, state.plan.layout, model_.parameters())) {
        for (const Shards& shards : shards_) {
            optimizers_.emplace_back(job.config.optimizer, model_.parameters(), shards, job.dtype,
                                     device::MemorySpace::host);
        }
        initialize_parameters(stream_, model_.parameters(), add_version(), job.config.run.seed);
        launch(stream_, kernels::Copy{.input = versions_.back().all(), .output = model_.values().all()});
    }

    Replayed run() {
        const std::size_t period = job_.config.run.eval_every;
        for (std::size_t step = 0; step < job_.steps; ++step) {
            use_weights_of(step);
            result_.figures.losses.push_back(forward_backward(step));
            update(step);
            const bool is_last = step + 1 == job_.steps;
            if (is_last || (period > 0 && (step + 1) % period == 0)) evaluate();
        }
        for (std::size_t i = 0; i < model_.parameters().size(); ++i) {
            result_.figures.parameters[model_.parameters()[i].name] = stage::numbers_of(versions_.back()[i]);
        }
        return std::move(result_);
    }

private:
    const model::ParameterTensors& add_version() {
        return versions_.emplace_back(model_.parameters(), job_.dtype, device::MemorySpace::host);
    }

    // Returns the number of updates that the weights of a stage contain.
    std::size_t find_version(std::size_t stage, std::size_t step) const {
        const std::size_t period = job_.config.run.eval_every;
        const std::size_t in_segment = period == 0 ? step : step % period;
        return step - std::min(in_segment, rule_.delays[stage]);
    }

    void use_weights_of(std::size_t step) {
        for (std::size_t stage = 0; stage < shards_.size(); ++stage) {
            const model::ParameterTensors& version = versions_[find_version(stage, step)];
            for (const auto& [parameter, box] : shards_[stage]) {
                launch(stream_,
                       kernels::Copy{.input = version[parameter], .output = model_.values()[parameter]});
            }
        }
    }

    // Returns the loss per target, and leaves the gradients in the model.
    double forward_backward(std::size_t step) {
        const auto visits = sampler_.list_visits(step * job_.config.run.batch, job_.config.run.batch);
        const auto targets =
            static_cast<double>(count_targets(*job_.corpus, job_.samples.train, job_.train_rules, visits));
        const stage::PassOptions options{.dropout_key = RandomKey{job_.config.run.seed}.then("dropout"),
                                         .loss_scale = 1 / targets,
                                         .label_smoothing = job_.config.task.label_smoothing};
        launch(stream_, kernels::Fill{.output = model_.gradients().all(), .value = 0});
        double loss = 0;
        for (const auto& part :
             cut_into_microbatches(visits, static_cast<std::size_t>(state_.plan.microbatches()))) {
            const data::Batch batch = batch_size(part, job_.samples.train, job_.train_rules);
            loss += model_.forward_backward(stream_, rank::BatchView(batch).tokens(), options);
        }
        return loss / targets;
    }

    data::Batch batch_size(const std::vector<plan::SampleVisit>& visits,
                           const std::vector<data::Sample>& samples, const data::BatchRules& rules) const {
        return build_batch(
            *job_.corpus, samples, rules,
            make_microbatch(visits, samples, job_.config.schedule.length, job_.samples.max_length));
    }

    std::vector<double> squares_of_stages() {
        std::vector<double> squares;
        for (const Shards& shards : shards_) {
            squares.push_back(compute_sum_of_squares(stream_, model_.gradients(), shards, scratch_));
        }
        return squares;
    }

    // Updates the newest weights.
    void update(std::size_t step) {
        const std::vector<double> squares = squares_of_stages();
        const double norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
        result_.figures.norms.push_back(norm);
        const model::ParameterTensors& newest = add_version();
        launch(stream_, kernels::Copy{.input = versions_[step].all(), .output = newest.all()});
        for (std::size_t stage = 0; stage < shards_.size(); ++stage) {
            const double scale = optim::compute_clip_scale(
                rule_.clips_per_stage ? std::sqrt(squares[stage]) : norm, job_.config.optimizer.clip);
            optimizers_[stage].update(
                stream_, newest, model_.gradients(),
                compute_learning_rate(job_.config.optimizer, static_cast<double>(step), job_.steps), scale);
            if (rule_.clips_per_stage ? !shards_[stage].empty() : stage == 0) count_update(scale < 1);
        }
    }

    void count_update(bool is_clipped) {
        ++result_.updates;
        if (is_clipped) ++result_.clipped;
    }

    void evaluate() {
        launch(stream_, kernels::Copy{.input = versions_.back().all(), .output = model_.values().all()});
        const std::vector<data::Sample>& samples = job_.samples.validation;
        const std::size_t parts = (samples.size() + state_.microbatch_samples - 1) / state_.microbatch_samples;
        double loss = 0;
        double targets = 0;
        for (const auto& part : cut_into_microbatches(every_sample(samples.size()), parts)) {
            const data::Batch batch = batch_size(part, samples, job_.validation_rules);
            loss += model_.evaluate(stream_, rank::BatchView(batch).tokens()).loss;
            targets += static_cast<double>(batch.target_count);
        }
        result_.figures.evaluations.push_back(loss / targets);
    }

    const setup::Job& job_;
    const setup::PlanState& state_;
    const ReplayRule& rule_;
    device::Stream stream_;
    stage::WholeModel model_;
    data::Sampler sampler_;
    device::Arena scratch_;
    std::vector<Shards> shards_;                     // per stage
    std::vector<optim::Optimizer> optimizers_;       // per stage
    std::vector<model::ParameterTensors> versions_;  // after 0, 1, 2, ... updates
    Replayed result_;
};

}  // namespace

Replayed replay(const setup::Setup& setup, const ReplayRule& rule) {
    return Replay(setup.job, setup.current, rule).run();
}

}  // namespace trireme::equivalence
