#include "run/resume.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/model/config_json.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/run/train.hpp"

namespace trireme::run {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// JSON keys in a checkpoint's facts about its run.
constexpr const char* config_key = "config";
constexpr const char* ranks_key = "ranks";

constexpr const char* steps_key = "--steps";  // key in "options"; also set if --epochs decides

// An option on which the steps of a run depend.
struct RunFact {
    std::string option;
    std::string value;
};

// Returns the options that determine which samples a step visits and in which precision it computes.
std::vector<RunFact> fixed_facts(const setup::Job& job) {
    return {{"--seed", cat(job.config.run.seed)},
            {"--batch", cat(job.config.run.batch)},
            {"--optimizer", word_of(optim::optimizers, job.config.optimizer.kind)},
            {"--dtype", name_of(job.dtype)},
            {"--max-length", cat(setup::longest_sample(job.config, job.model))},
            {"--long", word_of(data::treatments_of_long_rows, job.config.data.long_rows)},
            {"--document-end", job.config.data.document_end ? "eos" : "none"},
            {"--validation-share", cat(job.config.data.validation_share)}};
}

Json facts_in(const checkpoint::StoredModel& stored) {
    const Json run = Json::parse(stored.state()->run, nullptr, false);
    if (run.is_object() && run.contains("options") && run.at("options").is_object()) return run;
    throw ConfigError(
        cat(stored.place(), " holds no run that could be resumed; start from it with --init ", stored.place()));
}

std::string text_at(const Json& object, const std::string& key) {
    return object.contains(key) && object.at(key).is_string() ? object.at(key).get<std::string>() : "";
}

void refuse_another_run(const setup::Job& job, const Json& run) {
    const std::string& place = job.stored->place();
    for (const RunFact& fact : fixed_facts(job)) {
        const std::string was = text_at(run.at("options"), fact.option);
        if (was == fact.value) continue;
        throw ConfigError(cat(place, " was saved by a run with ", fact.option, ' ', was, ", not ", fact.value,
                              "; use the same value, or start another run from it with --init ", place));
    }
    const data::CorpusInfo& corpus = job.corpus->info();
    if (text_at(run, "corpus_sha256") != corpus.checksum)
        throw ConfigError(cat(place, " was saved by a run on another corpus than ", corpus.path,
                              "; use the same corpus, or start another run from it with --init ", place));
}

// Throws ConfigError if the options would change a setting in the config.json of the checkpoint.
void refuse_another_model(const setup::Job& job) {
    const checkpoint::StoredModel& stored = *job.stored;
    const std::string dtype = job.dtype == device::DType::f64 ? "float64" : "float32";
    const Json wanted = Json::parse(config_json_of(job.model, dtype, stored.config_text())).flatten();
    const Json had = Json::parse(stored.config_text()).flatten();
    for (const auto& [key, value] : wanted.items()) {
        const std::string was = had.contains(key) ? had.at(key).dump() : "none";
        if (was == value.dump()) continue;
        throw ConfigError(cat(
            stored.place(), " holds a model with ", key.substr(1), ' ', was, ", not ", value.dump(),
            "; remove the option that changes it, or start another run from it with --init ", stored.place()));
    }
}

void refuse_without_steps_left(const setup::Job& job) {
    if (job.first_step < job.steps) return;
    throw ConfigError(cat(job.stored->place(), " has ", job.first_step, " steps done, and the run has ",
                          job.steps, " in all; raise --steps or --epochs to continue"));
}

void refuse_other_moments(const setup::Job& job) {
    const std::size_t wanted = moments_of(job.config.optimizer);
    const std::size_t had = job.stored->state()->moments;
    if (wanted == had) return;
    throw ConfigError(cat(job.stored->place(), " has ", had, " moments per parameter, and the optimizer keeps ",
                          wanted, "; use the --momentum that it was saved with"));
}

}  // namespace

std::optional<fs::path> checkpoint_to_resume(const config::RunOptions& run) {
    if (run.resume == "off") return std::nullopt;
    if (run.resume != "auto") return checkpoint::checkpoint_at(run.resume);
    if (run.run_dir.empty()) throw ConfigError("--resume auto resumes a run directory; name it with --run-dir");
    return checkpoint::newest_checkpoint(fs::path(run.run_dir) / checkpoint::checkpoints_folder);
}

std::optional<config::SavedOptions> saved_options(const config::RunOptions& run) {
    const auto checkpoint = checkpoint_to_resume(run);
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
    return saved;
}

namespace {

// True if the run continues in the run directory of its checkpoint, whose records up to the checkpoint stay.
bool goes_on_in_place(const config::RunOptions& run, const std::optional<fs::path>& checkpoint) {
    if (run.resume == "off" || run.run_dir.empty()) return false;
    if (run.resume == "auto") return true;
    std::error_code ignored;
    return checkpoint && fs::equivalent(checkpoint->parent_path(),
                                        fs::path(run.run_dir) / checkpoint::checkpoints_folder, ignored);
}

// Reads the summary of earlier steps. Checkpoints of earlier versions have only their number.
setup::EarlierSteps earlier_steps(const Json& run, std::size_t count) {
    setup::EarlierSteps earlier{.count = count};
    const Json first_loss = run.value("first_loss", Json());
    if (first_loss.is_number()) earlier.first_loss = first_loss.get<double>();
    for (const Json& part : run.value("left_out", Json::array()))
        earlier.left_out.push_back(part.is_number() ? part.get<double>() : 0);
    return earlier;
}

// Describes the change of the next learning rate that results from another number of steps; empty if it stays.
std::string change_of_rate(const setup::Job& job) {
    const std::string text = text_at(facts_in(*job.stored).at("options"), steps_key);
    std::size_t steps = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
    if (error != std::errc() || steps == 0 || steps == job.steps) return {};
    const double before = learning_rate(job.config.optimizer, job.first_step, steps);
    const double now = learning_rate(job.config.optimizer, job.first_step, job.steps);
    constexpr double worth_a_line = 1e-3;
    if (std::abs(now - before) <= worth_a_line * before) return {};
    return fmt::format(
        "the run has {} steps instead of {}, so the learning rate of step {} is {:.2e} instead of {:.2e}; "
        "--lr-horizon {} keeps the former schedule",
        job.steps, steps, job.first_step + 1, now, before, steps);
}

void take_up(setup::Job& job) {
    const Json run = facts_in(*job.stored);
    refuse_another_run(job, run);
    refuse_another_model(job);
    refuse_other_moments(job);
    job.resumes = true;
    job.first_step = job.stored->step();
    job.earlier = earlier_steps(run, job.first_step);
    refuse_without_steps_left(job);
    job.rate_change = change_of_rate(job);
}

}  // namespace

setup::Setup set_up_from_checkpoint(const config::RunConfig& config, int ranks) {
    const std::optional<fs::path> checkpoint = checkpoint_to_resume(config.run);
    setup::Setup setup =
        checkpoint ? setup::set_up(config, ranks, checkpoint->string()) : setup::set_up(config, ranks);
    if (checkpoint) take_up(setup.job);
    if (goes_on_in_place(config.run, checkpoint)) setup.job.kept_steps = setup.job.first_step;
    return setup;
}

std::string run_facts(const setup::Job& job, const setup::PlanState& current, const RunProgress& progress) {
    Json options = Json::object();
    for (const RunFact& fact : fixed_facts(job)) options[fact.option] = fact.value;
    options[steps_key] = cat(job.steps);
    Json given = Json::object();
    for (const config::OptionValue& option : job.config.options.values) given[option.name] = option.value;
    Json facts{{"samples_visited", progress.observed.step * job.config.run.batch},
               {"corpus_sha256", job.corpus->info().checksum},
               {"options", std::move(options)},
               {config_key, std::move(given)},
               {ranks_key, job.config.options.ranks},
               {"plan", hash_of(current.plan)},
               {"schedule", current.plan.schedule},
               {"layout", Json::parse(plan::json_of(current.plan.layout))}};
    if (progress.steps.first_loss) facts["first_loss"] = *progress.steps.first_loss;
    if (!progress.steps.left_out.empty()) facts["left_out"] = progress.steps.left_out;
    const std::string origin = adapt::origin_facts(job, progress.origin, progress.observed);
    if (!origin.empty()) facts[adapt::origin_key] = Json::parse(origin);
    const std::string resizing = adapt::resizing_facts(job, current);
    if (!resizing.empty()) facts[adapt::resizing_key] = Json::parse(resizing);
    return facts.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace trireme::run
