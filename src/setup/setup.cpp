#include "trireme/setup/setup.hpp"

#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/model_choice.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

data::SampleRules sample_rules(const config::RunConfig& config, const model::ModelConfig& model) {
    const config::DataConfig& data = config.data;
    return {.task = model.task,
            .max_length = longest_sample(config, model),
            .long_rows = data.long_rows,
            .append_end = data.document_end,
            .validation_share = data.validation_share,
            .image_rows = model.reads_images() ? model.positions : 0};
}

// Evaluations mask the same tokens in all runs, so that their losses can be compared.
data::BatchRules batch_rules(const config::RunConfig& config, const model::ModelConfig& model,
                             RandomKey mask_key, const std::vector<std::uint32_t>& labels) {
    return {.task = model.task,
            .mask_key = mask_key,
            .mask_share = config.task.mask_share,
            .patch = model.reads_images() ? model.image.patch : 0,
            .labels = labels};
}

std::size_t count_steps(const config::RunConfig& config, std::size_t samples) {
    if (config.run.steps > 0) return config.run.steps;
    const double visits = config.data.epochs * static_cast<double>(samples);
    const double steps = std::ceil(visits / static_cast<double>(config.run.batch));
    constexpr double most_steps = 1e15;  // exact as a double
    if (!(steps >= 1 && steps <= most_steps)) {
        throw ConfigError(cat("--epochs ", config.data.epochs, " of ", samples, " samples, ", config.run.batch,
                              " a step, are ", steps, " steps; set --steps or --epochs to what can be done"));
    }
    return static_cast<std::size_t>(steps);
}

// Returns the micro-batch of `count` samples with the most rows. It consists of the longest samples, each at
// most `times` times, with lengths according to the policy.
stage::BatchShape largest_microbatch(std::span<const data::Sample> samples, std::size_t count,
                                     std::size_t times, plan::LengthPolicy policy, std::size_t longest) {
    std::vector<std::size_t> lengths;
    for (const data::Sample& sample : samples) lengths.push_back(sample.length);
    std::sort(lengths.rbegin(), lengths.rend());
    stage::BatchShape shape;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t packed = lengths[std::min(i / times, lengths.size() - 1)];
        const std::size_t padded = policy == plan::LengthPolicy::fixed ? longest : lengths.front();
        const std::size_t length = policy == plan::LengthPolicy::pack ? packed : padded;
        shape.segments.push_back({.begin = shape.rows, .length = length});
        shape.rows += length;
    }
    return shape;
}

void check_evaluation(const config::RunConfig& config, const data::SampleIndex& samples) {
    if (config.run.eval_every > 0 && samples.validation.empty()) {
        throw ConfigError(cat("--eval-every ", config.run.eval_every,
                              " has nothing to evaluate: --validation-share ", config.data.validation_share,
                              " leaves no row of the corpus; raise it"));
    }
}

void check_task_options(const config::TaskConfig& options, Task task) {
    if (options.label_smoothing > 0 && task != Task::classify) {
        throw ConfigError(no_effect("--label-smoothing", {"classes to learn", "--task classify"}));
    }
    if (options.mask_share != config::TaskConfig{}.mask_share && task != Task::masked) {
        throw ConfigError(no_effect("--mask-share", {"tokens to guess", "--task masked"}));
    }
}

// Throws ConfigError if no validation sample has an answer that is not cut off: a loss without terms is
// undefined.
void check_validation_targets(const Job& job) {
    const std::vector<data::Sample>& samples = job.samples.validation;
    if (job.model.task != Task::span || samples.empty()) return;
    std::vector<plan::SampleVisit> visits(samples.size());
    for (std::size_t s = 0; s < visits.size(); ++s) visits[s].sample = s;
    if (count_targets(*job.corpus, samples, job.validation_rules, visits) > 0) return;
    throw ConfigError(cat("of the ", samples.size(), " questions of ", job.corpus->info().path,
                          " to evaluate, none has its answer within --max-length; raise it"));
}

// Returns a job with corpus, stored model, tokenizer and samples.
Job job_with_corpus(const config::RunConfig& config, const std::string& init) {
    data::Corpus corpus = data::Corpus::open(config.data.corpus);
    std::optional<checkpoint::StoredModel> stored = stored_model(init);
    const model::ModelConfig model =
        choose_model(config.model, config.task.task, stored ? &*stored : nullptr, corpus.info());
    if (stored) check_fit(*stored, unique_parameters(build_layers(model)));
    std::optional<data::Tokenizer> tokenizer;
    if (!model.reads_images()) tokenizer = corpus.tokenizer();
    check_task_options(config.task, model.task);
    const std::vector<std::uint32_t> labels = labels_of_classes(model, corpus.info());
    data::SampleIndex samples = index_samples(corpus, sample_rules(config, model));
    return {.config = config,
            .model = model,
            .stored = std::move(stored),
            .corpus = std::move(corpus),
            .tokenizer = std::move(tokenizer),
            .samples = std::move(samples),
            .train_rules = batch_rules(config, model, RandomKey{config.run.seed}.then("mask"), labels),
            .validation_rules = batch_rules(config, model, RandomKey{}.then("validation mask"), labels)};
}

// Returns a job with synthetic samples: --batch of them, each of the maximum length.
Job made_up_job(const config::RunConfig& config, const std::string& init) {
    const std::optional<checkpoint::StoredModel> stored = stored_model(init);
    Job job;
    job.config = config;
    job.model = choose_model(config.model, config.task.task, stored ? &*stored : nullptr);
    check_task_options(config.task, job.model.task);
    job.samples.longest = job.model.reads_images() ? job.model.positions : longest_sample(config, job.model);
    job.samples.train.resize(config.run.batch, {.length = static_cast<std::uint32_t>(job.samples.longest)});
    return job;
}

PlanState first_plan(const Job& job, int ranks, bool trains) {
    PlanState state{.plan = plan_run(job.config, job.model, ranks)};
    state.microbatch_samples = samples_of_microbatch(job.config.run.batch, state.plan);
    state.largest = largest_microbatches(job, state.microbatch_samples);
    state.plan = within_memory_limit(std::move(state.plan), {.config = job.config,
                                                             .model = job.model,
                                                             .request = plan_request(job.config),
                                                             .ranks = ranks,
                                                             .dtype = job.dtype,
                                                             .largest = state.largest,
                                                             .trains = trains});
    state.gradients = gradient_plan({job, state}, job.buckets);
    return state;
}

// Does the part of set-up that training and evaluation have in common.
Setup set_up_model_and_data(const config::RunConfig& config, int ranks, const std::string& init, bool trains) {
    check_batch_size(config);
    const bool is_made_up = is_of_ghosts(config) && config.data.corpus.empty();
    Setup setup{.job = is_made_up ? made_up_job(config, init) : job_with_corpus(config, init), .current = {}};
    Job& job = setup.job;
    job.dtype = dtype_of(config.precision.dtype);
    job.place = memory_space_of(config.precision.device);
    if (is_of_ghosts(config)) job.buckets = ghost_buckets(ranks);
    setup.current = first_plan(job, ranks, trains);
    if (!is_of_ghosts(config)) check_validation_targets(job);
    return setup;
}

}  // namespace

device::MemorySpace memory_space_of(config::DeviceKind device) {
    if (device == config::DeviceKind::ghost) return device::MemorySpace::ghost;
    return device == config::DeviceKind::cuda ? device::MemorySpace::gpu : device::MemorySpace::host;
}

device::DType dtype_of(config::Precision precision) {
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

std::size_t samples_of_microbatch(std::size_t batch, const plan::Plan& plan) {
    const auto parts = static_cast<std::size_t>(plan.microbatches());
    return (batch + parts - 1) / parts;
}

// A training micro-batch that crosses the border of two epochs may hold a sample twice, or more often if the
// corpus is small. An evaluation visits every sample once.
std::vector<stage::BatchShape> largest_microbatches(const Job& job, std::size_t count) {
    const data::SampleIndex& index = job.samples;
    const plan::LengthPolicy length = job.config.schedule.length;
    std::vector<stage::BatchShape> shapes;
    if (!index.train.empty()) {
        const std::size_t epochs_met = 1 + (count + index.train.size() - 2) / index.train.size();
        shapes.push_back(largest_microbatch(index.train, count, epochs_met, length, index.longest));
    }
    if (!index.validation.empty()) {
        const std::size_t met = std::min(count, index.validation.size());
        shapes.push_back(largest_microbatch(index.validation, met, 1, length, index.longest));
    }
    return shapes;
}

void check_batch_is_enough(std::size_t batch, const plan::Plan& plan, const PlanRequest& request) {
    const auto parts = static_cast<std::size_t>(plan.microbatches());
    if (batch >= parts) return;
    const std::string made_of = request.is_each ? cat(" (", counted(parts / request.microbatches, "replica"),
                                                      " x --microbatches ", request.microbatches, ")")
                                                : "";
    throw ConfigError(cat("--batch ", batch, " is smaller than ", parts, " micro-batches", made_of,
                          "; each needs at least one sample"));
}

std::size_t longest_sample(const config::RunConfig& config, const model::ModelConfig& model) {
    const std::size_t wanted = config.data.max_length;
    if (wanted <= model.positions) return wanted == 0 ? model.positions : wanted;
    throw ConfigError(cat("--max-length ", wanted, " is beyond the ", model.positions,
                          " positions of the model; lower it or raise --positions"));
}

void check_batch_size(const config::RunConfig& config) {
    constexpr std::size_t most_samples = std::size_t{1} << 24;
    if (config.run.batch > most_samples) {
        throw ConfigError(cat("--batch ", config.run.batch, " is beyond ", most_samples, " samples a step"));
    }
}

Setup set_up(const config::RunConfig& config, int ranks, const std::optional<std::string>& checkpoint) {
    check_optimizer(config.optimizer);
    check_ghosts(config);
    const std::optional<SimulatedDevices> devices = simulated_devices(config, ranks);
    Setup setup = set_up_model_and_data(config, ranks, checkpoint.value_or(config.model.init), true);
    const plan::Plan& plan = setup.current.plan;
    setup.origin = {.hash = hash_of(plan), .layout = plan.layout};
    Job& job = setup.job;
    job.devices = devices;
    job.kernels = profiled_kernels(config, ranks);
    check_batch_is_enough(config.run.batch, plan, plan_request(config));
    check_evaluation(config, job.samples);
    job.steps = count_steps(config, job.samples.train.size());
    return setup;
}

SlowRun slow_run_of(const Job& job, int ranks) {
    return slow_run(job.config.emulation.slow, {.ranks = ranks,
                                                .steps = job.steps,
                                                .samples = job.samples.train.size(),
                                                .batch = job.config.run.batch,
                                                .seed = job.config.run.seed});
}

Setup set_up_evaluation(const config::EvaluateConfig& config, int ranks) {
    refuse_ghosts(config.run, "an evaluation");
    config::RunConfig run = config.run;
    if (!config.only_validation) run.data.validation_share = 1;
    Setup setup = set_up_model_and_data(run, ranks, config.resume, false);
    const Job& job = setup.job;
    if (job.samples.validation.empty()) {
        throw ConfigError(cat("--validation-share ", run.data.validation_share, " leaves no row of ",
                              run.data.corpus, " to evaluate; raise it, or evaluate --rows all"));
    }
    const checkpoint::LoadReport report = check_fit(*job.stored, unique_parameters(build_layers(job.model)));
    if (!report.missing.empty()) {
        throw ConfigError(cat(job.stored->place(), " was not trained for this task (", name_of(job.model.task),
                              "): it has no ", report.missing.front(),
                              "; name a corpus of its own kind, or --task"));
    }
    return setup;
}

void require_same_setup(comm::Communicator& control, const Setup& setup) {
    if (device::time_is_simulated()) return;
    const Job& job = setup.job;
    const bool is_checkpoint = job.stored && job.stored->state() != nullptr;
    require_same(control, {{"the corpus (SHA-256)", job.corpus ? job.corpus->info().checksum : ""},
                           {"the checkpoint (its save)", is_checkpoint ? job.stored->state()->save : ""},
                           {"the plan (hash)", hash_of(setup.current.plan)}});
}

}  // namespace trireme::setup
