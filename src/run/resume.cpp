#include "run/resume.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/model/config_json.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/run/train.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::run {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Keys in the JSON object of make_run_facts().
constexpr const char* config_key = "config";
constexpr const char* ranks_key = "ranks";
constexpr const char* samples_visited_key = "samples_visited";
constexpr const char* memory_limits_key = "memory_limits";

constexpr const char* steps_key = "--steps";  // key in "options"; set even if --epochs determines the steps

// An option that must keep its value when a run is resumed, and its value in this run.
struct FixedOption {
    std::string option;
    std::string value;
    std::string value_if_missing = {};  // value if the checkpoint was saved before the option existed
};

// Returns the options that must not change when a run is resumed. They determine which samples a step visits,
// how the optimizer updates the parameters, and the precision.
std::vector<FixedOption> list_fixed_options(const setup::Job& job) {
    return {{"--seed", cat(job.config.run.seed)},
            {"--order", find_name(data::sample_orders, job.config.data.order), "shuffled"},
            {"--sample-homes", cat(job.config.policy.cache.sample_homes), "1"},
            {"--batch", cat(job.config.run.batch)},
            {"--batch-policy", may_grow_batch(job.config.policy) ? "grow" : "fixed", "fixed"},
            {"--optimizer", find_name(optim::optimizers, job.config.optimizer.kind)},
            {"--dtype", to_string(job.dtype)},
            {"--max-length", cat(setup::compute_max_sample_length(job.config, job.model))},
            {"--long", find_name(data::long_row_choices, job.config.data.long_rows)},
            {"--document-end", job.config.data.has_document_end ? "eos" : "none"},
            {"--validation-share", cat(job.config.data.validation_fraction)}};
}

// Returns the JSON object of make_run_facts() in the checkpoint. Throws ConfigError if there is none.
Json parse_run_facts(const checkpoint::StoredModel& stored) {
    const Json facts = Json::parse(stored.state()->run, nullptr, false);
    if (facts.is_object() && facts.contains("options") && facts.at("options").is_object()) return facts;
    throw ConfigError(cat(stored.path(),
                          " holds no run that could be resumed; start a new run from it with --init ",
                          stored.path()));
}

// Returns an empty text if `object` has no text with this key.
std::string read_text(const Json& object, const std::string& key) {
    return object.contains(key) && object.at(key).is_string() ? object.at(key).get<std::string>() : "";
}

// Throws ConfigError if the checkpoint was saved with other fixed options or another corpus.
void refuse_another_run(const setup::Job& job, const Json& facts) {
    const std::string& stored_path = job.stored_model->path();
    for (const FixedOption& fixed_option : list_fixed_options(job)) {
        std::string saved_value = read_text(facts.at("options"), fixed_option.option);
        if (saved_value.empty()) saved_value = fixed_option.value_if_missing;
        if (saved_value == fixed_option.value) continue;
        throw ConfigError(cat(stored_path, " was saved by a run with ", fixed_option.option, ' ', saved_value,
                              ", not ", fixed_option.value,
                              "; use the same value, or start another run from it with --init ", stored_path));
    }
    const data::CorpusInfo& corpus = job.corpus->info();
    if (read_text(facts, "corpus_sha256") != corpus.checksum)
        throw ConfigError(cat(stored_path, " was saved by a run on a corpus other than ", corpus.path,
                              "; use the same corpus, or start another run from it with --init ", stored_path));
}

// Throws ConfigError if the options would change a setting in the config.json of the checkpoint.
void refuse_another_model(const setup::Job& job) {
    const checkpoint::StoredModel& stored = *job.stored_model;
    const std::string dtype = job.dtype == device::DType::f64 ? "float64" : "float32";
    const Json new_settings = Json::parse(to_config_json(job.model, dtype, stored.config_text())).flatten();
    const Json saved_settings = Json::parse(stored.config_text()).flatten();
    for (const auto& [key, value] : new_settings.items()) {
        const std::string saved_value = saved_settings.contains(key) ? saved_settings.at(key).dump() : "none";
        if (saved_value == value.dump()) continue;
        throw ConfigError(cat(
            stored.path(), " holds a model with ", key.substr(1), ' ', saved_value, ", not ", value.dump(),
            "; remove the option that changes it, or start another run from it with --init ", stored.path()));
    }
}

void refuse_finished_run(const setup::Job& job, const setup::StepSamples& samples) {
    const std::size_t steps = samples.count_steps();
    if (job.completed_steps < steps) return;
    throw ConfigError(cat(job.stored_model->path(), " was saved after step ", job.completed_steps,
                          ", and the run ends after step ", steps, "; raise --steps or --epochs to continue"));
}

// Returns an empty list if the checkpoint has no valid limits.
std::vector<std::size_t> read_memory_limits(const Json& facts) {
    std::vector<std::size_t> limits;
    for (const Json& limit : facts.value(memory_limits_key, Json::array())) {
        if (!limit.is_number_unsigned()) return {};
        limits.push_back(limit.get<std::size_t>());
    }
    return limits;
}

void refuse_other_moment_count(const setup::Job& job) {
    const std::size_t needed_moments = count_moments(job.config.optimizer);
    const std::size_t saved_moments = job.stored_model->state()->moments;
    if (needed_moments == saved_moments) return;
    throw ConfigError(cat(job.stored_model->path(), " has ", format_count(saved_moments, "moment"),
                          " per parameter, but the optimizer of this run keeps ", needed_moments,
                          "; use the --momentum of the run that saved it"));
}

}  // namespace

std::optional<fs::path> find_checkpoint_to_resume(const config::RunOptions& run) {
    if (run.resume == "off") return std::nullopt;
    if (run.resume != "auto") return checkpoint::find_checkpoint(run.resume);
    if (run.run_dir.empty()) throw ConfigError("--resume auto needs a run directory; name it with --run-dir");
    return checkpoint::find_newest_checkpoint(fs::path(run.run_dir) / checkpoint::checkpoints_folder);
}

std::optional<config::SavedOptions> read_saved_options(const config::RunOptions& run) {
    const auto checkpoint = find_checkpoint_to_resume(run);
    if (!checkpoint) return std::nullopt;
    const Json facts = Json::parse(checkpoint::read_checkpoint_state(*checkpoint).run, nullptr, false);
    if (!facts.is_object() || !facts.contains(config_key) || !facts.at(config_key).is_object())
        return std::nullopt;
    config::SavedOptions saved;
    for (const auto& [name, value] : facts.at(config_key).items())
        if (value.is_string()) saved.values.push_back({name, value.get<std::string>()});
    const Json ranks = facts.value(ranks_key, Json());
    if (ranks.is_number_unsigned() && ranks.get<std::uint64_t>() <= std::numeric_limits<int>::max())
        saved.ranks = ranks.get<int>();
    saved.memory_limits = read_memory_limits(facts);
    return saved;
}

namespace {

// True if the run continues in the run directory of its checkpoint, where the records of the steps before the
// checkpoint stay. With --resume auto, true even if the run directory has no checkpoint yet.
bool continues_in_place(const config::RunOptions& run, const std::optional<fs::path>& checkpoint) {
    if (run.resume == "off" || run.run_dir.empty()) return false;
    if (run.resume == "auto") return true;
    std::error_code ignored;
    return checkpoint && fs::equivalent(checkpoint->parent_path(),
                                        fs::path(run.run_dir) / checkpoint::checkpoints_folder, ignored);
}

// Returns the summary of the `count` steps before the checkpoint. If an older version wrote the checkpoint
// without a summary, only `count` is set.
setup::EarlierSteps read_earlier_steps(const Json& facts, std::size_t count) {
    setup::EarlierSteps earlier{.count = count};
    const Json first_loss = facts.value("first_loss", Json());
    if (first_loss.is_number()) earlier.first_loss = first_loss.get<double>();
    for (const Json& fraction : facts.value("left_out", Json::array()))
        earlier.skipped.push_back(fraction.is_number() ? fraction.get<double>() : 0);
    return earlier;
}

// Describes how the learning rate of the next step changes because the run now has another number of steps.
// Returns an empty text if the rate does not change.
std::string describe_rate_change(const setup::Job& job) {
    const std::string text = read_text(parse_run_facts(*job.stored_model).at("options"), steps_key);
    std::size_t saved_steps = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), saved_steps);
    if (error != std::errc() || saved_steps == 0 || saved_steps == job.steps) return {};
    const auto step = static_cast<double>(job.completed_steps);
    const double saved_rate = compute_learning_rate(job.config.optimizer, step, saved_steps);
    const double new_rate = compute_learning_rate(job.config.optimizer, step, job.steps);
    constexpr double min_relative_change = 1e-3;
    if (std::abs(new_rate - saved_rate) <= min_relative_change * saved_rate) return {};
    return fmt::format(
        "the run has {} steps instead of {}, so the learning rate of step {} is {:.2e} instead of {:.2e}; "
        "--lr-horizon {} keeps the former schedule",
        job.steps, saved_steps, job.completed_steps + 1, new_rate, saved_rate, saved_steps);
}

// The plan of the checkpoint may have had another number of samples per step, which choose_first_plan() sets.
void resume_samples(const Json& facts, const setup::Job& job, setup::StepSamples& samples) {
    samples.first_step = job.completed_steps;
    samples.first_sample = facts.value(samples_visited_key, job.completed_steps * samples.batch);
    samples.cached = {.begin = samples.first_sample, .depth_begin = samples.first_sample};
}

void resume_job(setup::Setup& setup) {
    setup::Job& job = setup.job;
    const Json facts = parse_run_facts(*job.stored_model);
    refuse_another_run(job, facts);
    refuse_another_model(job);
    refuse_other_moment_count(job);
    job.resumes = true;
    job.completed_steps = job.stored_model->step();
    job.earlier_steps = read_earlier_steps(facts, job.completed_steps);
    resume_samples(facts, job, setup.current.samples);
    refuse_finished_run(job, setup.current.samples);
    job.rate_change = describe_rate_change(job);
}

}  // namespace

setup::Setup set_up_from_checkpoint(const config::RunConfig& config, int ranks) {
    const std::optional<fs::path> checkpoint = find_checkpoint_to_resume(config.run);
    setup::Setup setup =
        checkpoint ? setup::set_up(config, ranks, checkpoint->string()) : setup::set_up(config, ranks);
    if (!config.costs.profiles.empty() && !setup.job.devices) {
        setup.job.profiles =
            std::make_shared<const plan::RankProfiles>(setup::read_fitting_profiles(config, setup.job.model));
    }
    if (checkpoint) {
        resume_job(setup);
        check_coming_steps(setup.job, setup.current);
    }
    if (continues_in_place(config.run, checkpoint)) setup.job.kept_steps = setup.job.completed_steps;
    return setup;
}

std::string make_run_facts(const setup::Job& job, const setup::PlanState& current,
                           const RunProgress& progress) {
    Json fixed_options = Json::object();
    for (const FixedOption& fixed_option : list_fixed_options(job))
        fixed_options[fixed_option.option] = fixed_option.value;
    fixed_options[steps_key] = cat(job.steps);
    Json option_values = Json::object();
    for (const config::OptionValue& option : job.config.options.values)
        option_values[option.name] = option.value;
    Json facts{{samples_visited_key, current.samples.count_visits(progress.observed.step)},
               {"corpus_sha256", job.corpus->info().checksum},
               {"options", std::move(fixed_options)},
               {config_key, std::move(option_values)},
               {ranks_key, job.config.options.ranks},
               {"plan", compute_hash(current.plan)},
               {"schedule", current.plan.schedule},
               {"layout", Json::parse(plan::to_json(current.plan.layout))}};
    if (!job.memory_limits.empty() && job.config.layout.memory_limit == 0)
        facts[memory_limits_key] = job.memory_limits;
    if (progress.steps.first_loss) facts["first_loss"] = *progress.steps.first_loss;
    if (!progress.steps.skipped.empty()) facts["left_out"] = progress.steps.skipped;
    const std::string origin = adapt::describe_origin(job, progress.origin, progress.observed);
    if (!origin.empty()) facts[adapt::origin_key] = Json::parse(origin);
    if (!progress.freezing.empty()) facts[adapt::freeze_key] = Json::parse(progress.freezing);
    const std::string resizing = adapt::describe_resizing(job, current);
    if (!resizing.empty()) facts[adapt::resizing_key] = Json::parse(resizing);
    return facts.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace trireme::run
