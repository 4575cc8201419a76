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
#include "trireme/stage/whole_model.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme::equivalence {
namespace {

using Shards = std::vector<ParameterShard>;

constexpr std::size_t bytes_for_square = 64;  // of a parameter: more than a number and what aligns it

StageMemory memory_for(const Setup& setup) {
    StageMemory memory;
    for (const BatchShape& shape : setup.largest) {
        memory = larger_of(memory, predict(setup.model, setup.dtype, shape));
    }
    return memory;
}

std::size_t stage_of_layer(const Layout& layout, std::size_t layer) {
    const auto holds = [&](const StageLayout& stage) { return layer < stage.layers.end(); };
    return static_cast<std::size_t>(std::ranges::find_if(layout.stages, holds) - layout.stages.begin());
}

// Of each stage, the parameters that its layers are the first to use.
std::vector<Shards> shards_of_stages(const Setup& setup, const std::vector<ParameterSpec>& specs) {
    std::vector<Shards> stages(setup.plan.layout.stages.size());
    std::vector<bool> has_stage(specs.size(), false);
    const Shards whole = whole_parameters(specs);
    const std::vector<Layer> layers = build_layers(setup.model);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        for (const ParameterSpec& used : parameters_of(layers[layer])) {
            const auto at = std::ranges::find(specs, used.name, &ParameterSpec::name) - specs.begin();
            const auto number = static_cast<std::size_t>(at);
            if (has_stage[number]) continue;
            has_stage[number] = true;
            stages[stage_of_layer(setup.plan.layout, layer)].push_back(whole[number]);
        }
    }
    return stages;
}

std::vector<SampleVisit> every_sample(std::size_t count) {
    std::vector<SampleVisit> visits(count);
    for (std::size_t s = 0; s < count; ++s) visits[s].sample = s;
    return visits;
}

class Replay {
public:
    Replay(const RunConfig& config, const Setup& setup, const ReplayRule& rule)
        : config_(config),
          setup_(setup),
          rule_(rule),
          stream_(make_stream(config.precision.device, 1)),
          model_(setup.model, setup.dtype, Place::memory, memory_for(setup)),
          sampler_(setup.samples.train.size(), config.run.seed),
          scratch_("norm", model_.parameters().size() * bytes_for_square, Place::memory),
          shards_(shards_of_stages(setup, model_.parameters())) {
        for (const Shards& shards : shards_) {
            optimizers_.emplace_back(config.optimizer, model_.parameters(), shards, setup.dtype, Place::memory);
        }
        initialise(stream_, model_.parameters(), add_version(), config.run.seed);
    }

    Replayed run() {
        const std::size_t period = config_.run.eval_every;
        for (std::size_t step = 0; step < setup_.steps; ++step) {
            use_weights_of(step);
            result_.figures.losses.push_back(forward_backward(step));
            update(step);
            const bool is_last = step + 1 == setup_.steps;
            if (is_last || (period > 0 && (step + 1) % period == 0)) evaluate();
        }
        for (std::size_t i = 0; i < model_.parameters().size(); ++i) {
            result_.figures.parameters[model_.parameters()[i].name] = numbers_of(versions_.back()[i]);
        }
        return std::move(result_);
    }

private:
    const ParameterTensors& add_version() {
        return versions_.emplace_back(model_.parameters(), setup_.dtype, Place::memory);
    }

    // How many updates the weights of a stage have seen.
    std::size_t version_of(std::size_t stage, std::size_t step) const {
        const std::size_t period = config_.run.eval_every;
        const std::size_t in_stretch = period == 0 ? step : step % period;
        return step - std::min(in_stretch, rule_.delays[stage]);
    }

    void use_weights_of(std::size_t step) {
        for (std::size_t stage = 0; stage < shards_.size(); ++stage) {
            const ParameterTensors& version = versions_[version_of(stage, step)];
            for (const auto& [parameter, box] : shards_[stage]) {
                launch(stream_, Copy{.input = version[parameter], .output = model_.values()[parameter]});
            }
        }
    }

    // The loss per target; leaves the gradients in the model.
    double forward_backward(std::size_t step) {
        const auto visits = sampler_.visits(step * config_.run.batch, config_.run.batch);
        const auto targets = static_cast<double>(
            count_targets(*setup_.corpus, setup_.samples.train, setup_.train_rules, visits));
        const PassOptions options{.dropout_key = RandomKey{config_.run.seed}.then("dropout"),
                                  .loss_scale = 1 / targets,
                                  .label_smoothing = config_.task.label_smoothing};
        launch(stream_, Fill{.output = model_.gradients().all(), .value = 0});
        double loss = 0;
        for (const auto& part : cut_evenly(visits, static_cast<std::size_t>(setup_.plan.micro_batches()))) {
            const Batch batch = batch_of(part, setup_.samples.train, setup_.train_rules);
            loss += model_.forward_backward(stream_, BatchView(batch).tokens(), options);
        }
        return loss / targets;
    }

    Batch batch_of(const std::vector<SampleVisit>& visits, const std::vector<Sample>& samples,
                   const BatchRules& rules) const {
        return build_batch(*setup_.corpus, samples, rules,
                           make_micro_batch(visits, samples, setup_.length, setup_.samples.longest));
    }

    std::vector<double> squares_of_stages() {
        std::vector<double> squares;
        for (const Shards& shards : shards_) {
            squares.push_back(sum_of_squares(stream_, model_.gradients(), shards, scratch_));
        }
        return squares;
    }

    // Of the newest weights.
    void update(std::size_t step) {
        const std::vector<double> squares = squares_of_stages();
        const double norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
        result_.figures.norms.push_back(norm);
        const ParameterTensors& newest = add_version();
        launch(stream_, Copy{.input = versions_[step].all(), .output = newest.all()});
        for (std::size_t stage = 0; stage < shards_.size(); ++stage) {
            const double scale =
                clip_scale(rule_.clips_stages_alone ? std::sqrt(squares[stage]) : norm, config_.optimizer.clip);
            optimizers_[stage].update(stream_, newest, model_.gradients(),
                                      learning_rate(config_.optimizer, step, setup_.steps), scale);
            if (rule_.clips_stages_alone || stage == 0) count_update(scale < 1);
        }
    }

    void count_update(bool is_clipped) {
        ++result_.updates;
        if (is_clipped) ++result_.clipped;
    }

    void evaluate() {
        launch(stream_, Copy{.input = versions_.back().all(), .output = model_.values().all()});
        const std::vector<Sample>& samples = setup_.samples.validation;
        const std::size_t parts =
            (samples.size() + setup_.micro_batch_samples - 1) / setup_.micro_batch_samples;
        double loss = 0;
        double targets = 0;
        for (const auto& part : cut_evenly(every_sample(samples.size()), parts)) {
            const Batch batch = batch_of(part, samples, setup_.validation_rules);
            loss += model_.evaluate(stream_, BatchView(batch).tokens()).loss;
            targets += static_cast<double>(batch.target_count);
        }
        result_.figures.evaluations.push_back(loss / targets);
    }

    const RunConfig& config_;
    const Setup& setup_;
    const ReplayRule& rule_;
    Stream stream_;
    WholeModel model_;
    Sampler sampler_;
    Arena scratch_;
    std::vector<Shards> shards_;              // per stage
    std::vector<Optimizer> optimizers_;       // likewise
    std::vector<ParameterTensors> versions_;  // after 0, 1, 2, ... updates
    Replayed result_;
};

}  // namespace

Replayed replay(const RunConfig& config, const Setup& setup, const ReplayRule& rule) {
    return Replay(config, setup, rule).run();
}

}  // namespace trireme::equivalence
