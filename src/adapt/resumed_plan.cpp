#include "trireme/adapt/resumed_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

// What a checkpoint says of the plan that it was in, which the options had not.
struct SavedOrigin {
    std::string hash;  // of the options' plan
    std::string straggler;
    std::vector<double> slowness;
    std::size_t steady_steps = 0;
    Decision decision;
};

SavedOrigin saved_origin(const Json& facts, const std::string& place) {
    try {
        SavedOrigin saved{.hash = facts.at("options_plan"),
                          .straggler = facts.at("straggler"),
                          .slowness = facts.at("slowness"),
                          .steady_steps = facts.at("steady_steps"),
                          .decision = decisions_from_jsonl(facts.at("decision").dump(), place).at(0)};
        if (std::ranges::all_of(saved.slowness, [](double factor) { return factor >= 1; })) return saved;
    } catch (const Json::exception&) {  // it lacks something, or has it in another form
    }
    throw ConfigError(cat("its entry in ", place, " is not in the form that this program writes"));
}

// Whoever asks for something else than before has it from the first step on.
void refuse_other_options(const SavedOrigin& saved, const RunConfig& config, const Setup& setup, int ranks) {
    if (saved.slowness.size() != static_cast<std::size_t>(ranks))
        throw ConfigError(cat("it was saved with ", saved.slowness.size(), " ranks, and this job has ", ranks));
    if (saved.straggler != word_of(straggler_policies, config.policy.straggler))
        throw ConfigError(cat("--straggler was ", saved.straggler));
    if (saved.hash != setup.origin.hash)
        throw ConfigError(cat("its options gave plan ", saved.hash, ", and these give ", setup.origin.hash));
}

// Its memory was held against the limit on the way there, and it is that very plan. Where it came from may have
// been yet another one.
void follow_saved(SavedOrigin saved, const RunConfig& config, Setup& setup, int ranks) {
    Decision wanted = saved.decision;
    wanted.from.clear();
    follow(decided_plan(config, setup, setup, ranks, wanted), setup);
    const std::string reason = wanted.reason.empty() ? "" : cat(" (", wanted.reason, ")");
    setup.origin.words = cat("continues with ", wanted.to, ", chosen after step ", wanted.step, reason);
    setup.origin.slowness = std::move(saved.slowness);
    setup.origin.steady_steps = saved.steady_steps;
    setup.origin.decision = std::move(saved.decision);
}

void go_on_in_saved_plan(const RunConfig& config, Setup& setup, int ranks) {
    const Json run = Json::parse(setup.stored->state()->run);
    if (!run.contains(origin_key)) return;
    try {
        SavedOrigin saved = saved_origin(run.at(origin_key), setup.stored->place());
        refuse_other_options(saved, config, setup, ranks);
        follow_saved(std::move(saved), config, setup, ranks);
    } catch (const ConfigError& error) {
        setup.origin.words = cat("begins in that of the options, and not in the checkpoint's: ", error.what());
    }
}

// In the same plan, with as much to remember, and for the same use.
bool chooses_as_before(const RunConfig& config, const Setup& setup) {
    const std::string now = resizing_facts(config, setup);
    const Json run = Json::parse(setup.stored->state()->run);
    return !now.empty() && run.contains(resizing_key) && run.at(resizing_key) == Json::parse(now) &&
           run.value("plan", Json()) == hash_of(setup.plan);
}

}  // namespace

std::string resizing_facts(const RunConfig& config, const Setup& setup) {
    const Plan& plan = setup.plan;
    if (plan.most_left_out == 0) return {};
    Json facts{{"select", word_of(channel_policies, config.policy.resize.select)}};
    if (plan.remembers_left_out) facts["remembers_gradients_of_rows"] = resizer_config(setup).most_rows;
    return facts.dump();
}

std::string origin_facts(const RunConfig& config, const Setup& setup, const Observation& observed) {
    if (!setup.origin.decision) return {};
    return Json{{"options_plan", setup.origin.hash},
                {"straggler", word_of(straggler_policies, config.policy.straggler)},
                {"slowness", observed.slowness},
                {"steady_steps", observed.steady_steps},
                {"decision", Json::parse(json_of(*setup.origin.decision))}}
        .dump();
}

RecordedPlans take_up_plan(const RunConfig& config, Setup& setup, int ranks) {
    RecordedPlans recorded = recorded_plans(config, setup, ranks);
    follow_until(setup.first_step, recorded, setup);
    if (setup.resumes && config.policy.decisions.empty()) go_on_in_saved_plan(config, setup, ranks);
    setup.goes_on_resizing = setup.resumes && chooses_as_before(config, setup);
    return recorded;
}

}  // namespace trireme
