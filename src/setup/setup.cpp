#include "trireme/setup/setup.hpp"

#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/microbatch_sizes.hpp"
#include "trireme/setup/model_choice.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::setup {
namespace {

data::SampleRules make_sample_rules(const config::RunConfig& config, const model::ModelConfig& model) {
    const config::DataConfig& data = config.data;
    return {.task = model.task,
            .max_length = compute_max_sample_length(config, model),
            .long_rows = data.long_rows,
            .append_end_token = data.has_document_end,
            .validation_fraction = data.validation_fraction,
            .image_rows = model.reads_images() ? model.positions : 0};
}

// Returns the rules for building micro-batches. `mask_key` seeds the choice of masked tokens. Evaluations have
// the same key in all runs, so that their losses can be compared. `labels` is the result of match_labels().
data::BatchRules make_batch_rules(const config::RunConfig& config, const model::ModelConfig& model,
                                  RandomKey mask_key, const std::vector<std::uint32_t>& labels) {
    return {.task = model.task,
            .mask_key = mask_key,
            .mask_fraction = config.task.mask_fraction,
            .patch = model.reads_images() ? model.image.patch : 0,
            .model_labels = labels};
}

std::size_t count_steps(const config::RunConfig& config, std::size_t samples) {
    if (config.run.steps > 0) return config.run.steps;
    const double visits = config.data.epochs * static_cast<double>(samples);
    const double steps = std::ceil(visits / static_cast<double>(config.run.batch));
    constexpr double max_steps = 1e15;  // still exact as a double
    if (!(steps >= 1 && steps <= max_steps)) {
        throw ConfigError(cat("--epochs ", config.data.epochs, " with ", format_count(samples, "sample"),
                              " and --batch ", config.run.batch, " makes ", steps,
                              " steps, not 1 to 1e15; change --epochs, or set --steps"));
    }
    return static_cast<std::size_t>(steps);
}

void check_evaluation(const config::RunConfig& config, const data::SampleIndex& samples) {
    if (config.run.eval_every > 0 && samples.validation.empty()) {
        throw ConfigError(
            cat("--eval-every ", config.run.eval_every, " has nothing to evaluate, because --validation-share ",
                config.data.validation_fraction, " selects no row of the corpus; raise --validation-share"));
    }
}

void check_task_options(const config::TaskConfig& options, Task task) {
    if (options.label_smoothing > 0 && task != Task::classify) {
        throw ConfigError(describe_no_effect("--label-smoothing", {"classes to learn", "--task classify"}));
    }
    if (options.mask_fraction != config::TaskConfig{}.mask_fraction && task != Task::masked) {
        throw ConfigError(describe_no_effect("--mask-share", {"masked tokens to predict", "--task masked"}));
    }
}

// Throws ConfigError if the validation samples are questions whose answers are all cut off by --max-length: the
// loss would have no terms.
void check_validation_targets(const Job& job) {
    const std::vector<data::Sample>& samples = job.samples.validation;
    if (job.model.task != Task::span || samples.empty()) return;
    std::vector<plan::SampleVisit> visits(samples.size());
    for (std::size_t s = 0; s < visits.size(); ++s) visits[s].sample = s;
    if (count_targets(*job.corpus, samples, job.validation_rules, visits) > 0) return;
    throw ConfigError(cat("none of the ", format_count(samples.size(), "question"), " to evaluate in ",
                          job.corpus->info().path, " has its answer within --max-length; raise --max-length"));
}

// Returns a job with corpus, stored model, tokenizer and samples. `init` is the value of --init, or the path of
// a checkpoint.
Job make_corpus_job(const config::RunConfig& config, const std::string& init) {
    data::Corpus corpus = data::Corpus::open(config.data.corpus);
    std::optional<checkpoint::StoredModel> stored = open_stored_model(init);
    const model::ModelConfig model =
        choose_model(config.model, config.task.task, stored ? &*stored : nullptr, corpus.info());
    if (stored) check_parameters(*stored, list_unique_parameters(build_layers(model)));
    std::optional<data::Tokenizer> tokenizer;
    if (!model.reads_images()) tokenizer = corpus.read_tokenizer();
    check_task_options(config.task, model.task);
    const std::vector<std::uint32_t> labels = match_labels(model, corpus.info());
    data::SampleIndex samples = index_samples(corpus, make_sample_rules(config, model));
    return {.config = config,
            .model = model,
            .stored_model = std::move(stored),
            .corpus = std::move(corpus),
            .tokenizer = std::move(tokenizer),
            .samples = std::move(samples),
            .train_rules = make_batch_rules(config, model, RandomKey{config.run.seed}.then("mask"), labels),
            .validation_rules = make_batch_rules(config, model, RandomKey{}.then("validation mask"), labels)};
}

// Returns the number of synthetic samples: those of a period of --freeze, of which no more than the run visits,
// or those of a step.
std::size_t count_synthetic_samples(const config::RunConfig& config) {
    const std::size_t period_steps =
        may_freeze(config.policy) ? std::min(config.policy.freeze.every, config.run.steps) : 1;
    return std::max<std::size_t>(1, period_steps) * config.run.batch;
}

// Returns a job with synthetic samples, each of the maximum length.
Job make_synthetic_job(const config::RunConfig& config, const std::string& init) {
    const std::optional<checkpoint::StoredModel> stored = open_stored_model(init);
    Job job;
    job.config = config;
    job.model = choose_model(config.model, config.task.task, stored ? &*stored : nullptr);
    check_task_options(config.task, job.model.task);
    job.samples.max_length =
        job.model.reads_images() ? job.model.positions : compute_max_sample_length(config, job.model);
    job.config.data.order = data::SampleOrder::corpus;  // the samples are equal
    job.samples.train.resize(count_synthetic_samples(config),
                             {.length = static_cast<std::uint32_t>(job.samples.max_length)});
    return job;
}

// True if --auto-pipe on, or recorded decisions of a run with it, may replace the layout of the options before
// the first step.
bool may_begin_with_other_layout(const config::RunConfig& config, const plan::Plan& plan) {
    const config::FreezeConfig& freeze = config.policy.freeze;
    return freeze.rule != config::FreezeRule::off && freeze.auto_pipe == config::AutoPipe::on &&
           plan.teams.size() > 1;
}

PlanState make_first_plan(const Job& job, int ranks, bool trains) {
    const std::size_t batch = job.config.run.batch;
    PlanState state{.plan = plan_run(job.config, job.model, ranks)};
    state.samples = {
        .batch = batch, .first_batch = batch, .first_pipelines = count_pipelines(state.plan.layout)};
    check_elastic(job.config, job.model, state.plan);
    check_ghost_plan(job.config, state.plan);
    PlanRequest request = make_plan_request(job.config);
    request.may_exceed_memory = trains && may_begin_with_other_layout(job.config, state.plan);
    size_microbatches(job, request, ranks, trains, state);
    state.gradients = make_gradient_plan({job, state}, job.buckets);
    limit_steps(job, state);
    return state;
}

enum class Purpose : std::uint8_t { training, forecast, evaluation };

std::optional<SimulatedDevices> find_devices(const config::RunConfig& config, int ranks, Purpose purpose) {
    switch (purpose) {
        case Purpose::training:
            return read_simulated_devices(config, ranks);
        case Purpose::forecast:
            return config.costs.cluster.empty() ? std::nullopt
                                                : std::optional(read_cluster_devices(config, ranks));
        case Purpose::evaluation:
            return std::nullopt;
    }
    throw BugError("unknown purpose of a set-up");
}

// Makes memory and buckets those of the simulated run without arithmetic, whose steps are forecast.
void set_simulated_memory(int ranks, Job& job) {
    job.memory_space = device::MemorySpace::ghost;
    job.buckets = make_ghost_bucket_rules(ranks);
}

// Performs the set-up that training and evaluation have in common.
Setup set_up_model_and_data(const config::RunConfig& config, int ranks, const std::string& init,
                            Purpose purpose) {
    check_batch_size(config);
    const bool trains = purpose != Purpose::evaluation;
    std::optional<SimulatedDevices> devices = find_devices(config, ranks, purpose);
    std::vector<std::size_t> limits;
    if (trains) limits = find_memory_limits(config, devices, ranks);
    const bool is_synthetic =
        config.data.corpus.empty() && (is_ghost_run(config) || purpose == Purpose::forecast);
    Setup setup{.job = is_synthetic ? make_synthetic_job(config, init) : make_corpus_job(config, init),
                .current = {}};
    Job& job = setup.job;
    job.dtype = to_dtype(config.precision.dtype);
    job.memory_space = find_memory_space(config.precision.device);
    if (is_ghost_run(config)) job.buckets = make_ghost_bucket_rules(ranks);
    if (purpose == Purpose::forecast && devices && is_elastic(config)) set_simulated_memory(ranks, job);
    job.devices = std::move(devices);
    job.nodes.assign(static_cast<std::size_t>(ranks), 0);
    job.memory_limits = std::move(limits);
    setup.current = make_first_plan(job, ranks, trains);
    if (!is_synthetic && !is_ghost_run(config)) check_validation_targets(job);
    return setup;
}

// Returns the hashes of the micro-batches of the first steps. Ranks compare these hashes at the start, because
// records of steps carry only the hashes of later steps. Empty for an evaluation, and if the plan may change
// before the first step.
std::string hash_first_steps(const Setup& setup) {
    const Job& job = setup.job;
    if (job.steps == 0 || follows_lengths(job, setup.current.plan)) return "";
    StepPlanner planner(job, setup.current);
    std::string hashes;
    for (std::size_t s = 0; s < count_steps_to_compare(setup.current.plan); ++s)
        hashes += cat(s == 0 ? "" : " ", planner.find_hash(job.completed_steps + s));
    return hashes;
}

}  // namespace

device::MemorySpace find_memory_space(config::DeviceKind device) {
    if (device == config::DeviceKind::ghost) return device::MemorySpace::ghost;
    return device == config::DeviceKind::cuda ? device::MemorySpace::gpu : device::MemorySpace::host;
}

device::DType to_dtype(config::Precision precision) {
    switch (precision) {
        case config::Precision::f32:
            return device::DType::f32;
        case config::Precision::f64:
            return device::DType::f64;
        case config::Precision::bf16:
            return device::DType::bf16;
    }
    throw BugError("unknown precision");
}

std::size_t count_microbatch_samples(std::size_t batch, const plan::Plan& plan) {
    const auto microbatches = static_cast<std::size_t>(plan.microbatches());
    return (batch + microbatches - 1) / microbatches;
}

void check_batch_is_enough(const config::RunConfig& config, const plan::Plan& plan, const PlanRequest& request,
                           std::size_t batch) {
    const auto microbatches = static_cast<std::size_t>(plan.microbatches());
    if (batch >= microbatches || forms_by_time(config.schedule.length)) return;
    const std::string factors = request.is_per_replica
                                    ? cat(" (", format_count(microbatches / request.microbatches, "replica"),
                                          " x --microbatches ", request.microbatches, ")")
                                    : "";
    throw ConfigError(cat("--batch ", batch, " is smaller than ", microbatches, " micro-batches", factors,
                          "; raise it, because each micro-batch needs a sample"));
}

std::size_t compute_max_sample_length(const config::RunConfig& config, const model::ModelConfig& model) {
    const std::size_t max_length = config.data.max_length;
    if (max_length <= model.positions) return max_length == 0 ? model.positions : max_length;
    throw ConfigError(cat("--max-length ", max_length, " is beyond the ", model.positions,
                          " positions of the model; lower --max-length or raise --positions"));
}

void check_freezing(const config::RunConfig& config) {
    if (!may_freeze(config.policy)) return;
    const config::FreezeConfig& freeze = config.policy.freeze;
    if (freeze.thaws && config.run.eval_every == 0)
        throw ConfigError("--freeze-thaw loss needs evaluations during the run; set --eval-every K");
    if (freeze.thaws && is_elastic_by_length(config.policy))
        throw ConfigError(
            "--freeze-thaw loss cannot be combined with --elastic length, because the next step may not fit "
            "into memory after blocks thaw; remove one of them");
    if (freeze.thaws && freeze.auto_pipe != config::AutoPipe::off)
        throw ConfigError(
            "--freeze-thaw loss cannot be combined with --auto-pipe, because the layout for more frozen blocks "
            "may lack memory after they thaw; remove one of them");
    const bool counts_samples = config.run.steps == 0 || (config.data.corpus.empty() && freeze.every > 0);
    if (may_grow_batch(config.policy) && !counts_samples)
        throw ConfigError(
            "--batch-policy grow cannot be combined with --steps, because steps differ in their samples; set "
            "--epochs E in place of --steps");
    if (may_grow_batch(config.policy) && is_elastic_by_length(config.policy))
        throw ConfigError(
            "--batch-policy grow cannot be combined with --elastic length or both, because it changes which "
            "samples the coming steps visit; use --batch-policy fixed");
    if (config::is_clock_costs_file(config.policy.clock_costs))
        throw ConfigError(cat("the costs in --clock-costs ", config.policy.clock_costs,
                              " were measured with one number of frozen blocks, but --freeze changes it; use "
                              "--clock-costs auto or sweep"));
}

void check_cache(const config::RunConfig& config, Task task, std::size_t samples) {
    // The masked tokens of a sample differ between epochs, and so do the outputs of frozen layers.
    if (uses_cache(config.policy) && task == Task::masked)
        throw ConfigError(
            "--cache cannot be combined with --task masked, whose samples differ between epochs; remove one of "
            "them");
    const std::size_t homes = config.policy.cache.sample_homes;
    if (homes > samples)
        throw ConfigError(cat("--sample-homes ", homes,
                              " needs at least one sample per home, but the corpus has ",
                              format_count(samples, "training sample"), "; lower it"));
}

void check_batch_size(const config::RunConfig& config) {
    constexpr std::size_t max_samples = std::size_t{1} << 24;
    if (config.run.batch > max_samples) {
        throw ConfigError(cat("--batch ", config.run.batch, " is beyond the maximum of ", max_samples,
                              " samples per step; lower it"));
    }
}

namespace {

Setup set_up_training(const config::RunConfig& config, int ranks, const std::optional<std::string>& checkpoint,
                      Purpose purpose) {
    check_optimizer(config.optimizer);
    check_ghosts(config);
    Setup setup = set_up_model_and_data(config, ranks, checkpoint.value_or(config.model.init), purpose);
    const plan::Plan& plan = setup.current.plan;
    setup.origin.layout = plan.layout;
    Job& job = setup.job;
    job.kernels = read_profiled_kernels(config, ranks);
    job.clock_costs = read_clock_costs(config);
    check_batch_is_enough(config, plan, make_plan_request(config), config.run.batch);
    check_freezing(config);
    check_cache(config, job.model.task, job.samples.train.size());
    check_evaluation(config, job.samples);
    job.steps = count_steps(config, job.samples.train.size());
    setup.current.samples.all = job.steps * config.run.batch;
    if (!checkpoint) check_coming_steps(job, setup.current);
    return setup;
}

}  // namespace

Setup set_up(const config::RunConfig& config, int ranks, const std::optional<std::string>& checkpoint) {
    return set_up_training(config, ranks, checkpoint, Purpose::training);
}

Setup set_up_forecast(const config::RunConfig& config, int ranks) {
    Setup setup = set_up_training(config, ranks, std::nullopt, Purpose::forecast);
    if (!config.costs.profiles.empty() && !setup.job.devices)
        setup.job.profiles =
            std::make_shared<const plan::RankProfiles>(read_fitting_profiles(config, setup.job.model));
    return setup;
}

SlowRun make_slow_run(const Job& job, int ranks) {
    return read_slow_run(job.config.emulation.slow, {.ranks = ranks,
                                                     .steps = job.steps,
                                                     .samples = job.samples.train.size(),
                                                     .batch = job.config.run.batch,
                                                     .seed = job.config.run.seed});
}

Setup set_up_evaluation(const config::EvaluateConfig& config, int ranks) {
    reject_ghost_run(config.run, "an evaluation");
    config::RunConfig run_config = config.run;
    if (!config.only_validation) run_config.data.validation_fraction = 1;
    Setup setup = set_up_model_and_data(run_config, ranks, config.resume, Purpose::evaluation);
    const Job& job = setup.job;
    if (job.samples.validation.empty()) {
        throw ConfigError(cat("--validation-share ", run_config.data.validation_fraction, " selects no row of ",
                              run_config.data.corpus, " to evaluate; raise it, or use --rows all"));
    }
    const checkpoint::LoadReport report =
        check_parameters(*job.stored_model, list_unique_parameters(build_layers(job.model)));
    if (!report.missing_parameters.empty()) {
        throw ConfigError(cat(job.stored_model->path(), " was not trained for the task ",
                              to_string(job.model.task), ": it has no parameter ",
                              report.missing_parameters.front(),
                              "; use a corpus for the task of the model, or set --task"));
    }
    return setup;
}

void require_same_setup(comm::Communicator& control, const Setup& setup) {
    if (device::time_is_simulated()) return;
    const Job& job = setup.job;
    const bool has_checkpoint = job.stored_model && job.stored_model->state() != nullptr;
    require_same(control,
                 {{"the corpus (SHA-256)", job.corpus ? job.corpus->info().checksum : ""},
                  {"the checkpoint (its save)", has_checkpoint ? job.stored_model->state()->save_id : ""},
                  {"the plan (hash)", compute_hash(setup.current.plan)},
                  {"the micro-batches of the first steps (hashes)", hash_first_steps(setup)}});
}

}  // namespace trireme::setup
