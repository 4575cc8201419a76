#include "trireme/adapt/resumed_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::adapt {
namespace {

using Json = nlohmann::ordered_json;

// A checkpoint's entry about its plan, if this was not the plan of the options.
struct SavedOrigin {
    std::string hash;  // hash of the plan of the options
    std::string straggler;
    std::vector<double> slowness;
    std::size_t steady_steps = 0;
    plan::Decision decision;
};

// Reads the entry of a checkpoint; returns nothing if it does not have the form that this program writes.
std::optional<SavedOrigin> saved_origin(const Json& facts, const std::string& place) {
    try {
        SavedOrigin saved{.hash = facts.at("options_plan"),
                          .straggler = facts.at("straggler"),
                          .slowness = facts.at("slowness"),
                          .steady_steps = facts.at("steady_steps"),
                          .decision = plan::decisions_from_jsonl(facts.at("decision").dump(), place).at(0)};
        if (std::ranges::all_of(saved.slowness, [](double factor) { return factor >= 1; })) return saved;
    } catch (const Json::exception&) {  // a field is missing or has another type
    } catch (const ConfigError&) {      // the decision is malformed
    }
    return std::nullopt;
}

// Describes the first difference from the saved run that invalidates its policy's decision; empty if there is
// none.
std::string describe_difference(const SavedOrigin& saved, const setup::Setup& setup, std::size_t ranks) {
    if (saved.slowness.size() != ranks)
        return cat("it was saved with ", saved.slowness.size(), " ranks, and this job has ", ranks);
    if (saved.straggler != word_of(config::straggler_policies, setup.job.config.policy.straggler))
        return cat("--straggler was ", saved.straggler);
    if (saved.hash != setup.origin.hash)
        return cat("its options gave plan ", saved.hash, ", and these give ", setup.origin.hash);
    return {};
}

// Applies the saved decision to the plan of the options. Returns why that is impossible; empty on success. The
// hash `from` is cleared, because the decision may have been made in another plan than that of the options.
std::string follow_saved(SavedOrigin saved, setup::Setup& setup, const std::vector<int>& nodes) {
    plan::Decision wanted = saved.decision;
    wanted.from.clear();
    std::string why;
    auto transition = possible_transition(setup.job, setup.current, nodes, wanted, why);
    if (!transition) return why;
    apply(*transition, setup.current);
    const std::string reason = wanted.reason.empty() ? "" : cat(" (", wanted.reason, ")");
    setup.origin.words = cat("continues with ", wanted.to, ", chosen after step ", wanted.step, reason);
    setup.origin.slowness = std::move(saved.slowness);
    setup.origin.steady_steps = saved.steady_steps;
    setup.origin.decision = std::move(saved.decision);
    return {};
}

void go_on_in_saved_plan(setup::Setup& setup, const std::vector<int>& nodes) {
    const checkpoint::StoredModel& stored = *setup.job.stored;
    const Json run = Json::parse(stored.state()->run);
    if (!run.contains(origin_key)) return;
    auto saved = saved_origin(run.at(origin_key), stored.place());
    std::string why =
        saved ? describe_difference(*saved, setup, nodes.size())
              : cat("its entry in ", stored.place(), " is not in the form that this program writes");
    if (why.empty()) why = follow_saved(std::move(*saved), setup, nodes);
    if (!why.empty())
        setup.origin.words = cat("begins in that of the options, and not in the checkpoint's: ", why);
}

// True if the plan and the way to choose pruned channels are those of the checkpoint.
bool chooses_as_before(const setup::Setup& setup) {
    const std::string now = resizing_facts(setup.job, setup.current);
    const Json run = Json::parse(setup.job.stored->state()->run);
    return !now.empty() && run.contains(resizing_key) && run.at(resizing_key) == Json::parse(now) &&
           run.value("plan", Json()) == hash_of(setup.current.plan);
}

std::vector<plan::Decision> decisions_of_file(const std::string& file) {
    if (file.empty()) return {};
    return plan::decisions_from_jsonl(read_regular_file(file, "--decisions"), file);
}

// Applies the decisions before the first step, and checks all others.
RecordedChanges follow_recorded(setup::Setup& setup, const std::vector<int>& nodes, int rank) {
    const setup::Job& job = setup.job;
    RecordedChanges left;
    setup::PlanState ahead;  // plan after the last of the remaining decisions so far
    for (plan::Decision& decision : decisions_of_file(job.config.policy.decisions)) {
        if (decision.step >= job.steps) {
            throw ConfigError(cat("--decisions ", job.config.policy.decisions, ", step ", decision.step,
                                  ": the run has ", job.steps,
                                  " steps, and none after this one; remove the line, or train longer"));
        }
        const setup::PlanState& from = left.decisions.empty() ? setup.current : ahead;
        PlanTransition transition = plan_transition(job, from, nodes, decision);
        if (decision.step < job.first_step) {
            apply(transition, setup.current);
            note_origin(std::move(decision), setup.current.plan, setup.origin);
            continue;
        }
        left.memory.rank = std::max(left.memory.rank, transition.max_bytes(job, rank));
        left.memory.node =
            std::max(left.memory.node, transition.node_bytes(job, nodes[static_cast<std::size_t>(rank)]));
        ahead = std::move(transition.to);
        left.decisions.push_back(std::move(decision));
    }
    return left;
}

}  // namespace

std::string resizing_facts(const setup::Job& job, const setup::PlanState& current) {
    const plan::Plan& plan = current.plan;
    if (plan.most_left_out == 0) return {};
    Json facts{{"select", word_of(config::channel_policies, job.config.policy.resize.select)}};
    if (plan.remembers_left_out)
        facts["remembers_gradients_of_rows"] = setup::resizer_config({job, current}).most_rows;
    return facts.dump();
}

std::string origin_facts(const setup::Job& job, const setup::PlanOrigin& origin,
                         const plan::Observation& observed) {
    if (!origin.decision) return {};
    return Json{{"options_plan", origin.hash},
                {"straggler", word_of(config::straggler_policies, job.config.policy.straggler)},
                {"slowness", observed.slowness},
                {"steady_steps", observed.steady_steps},
                {"decision", Json::parse(json_of(*origin.decision))}}
        .dump();
}

// The previous plan supplies what a decision leaves open. A resumed run does not know that plan, so the
// decision is completed here.
void note_origin(plan::Decision decision, const plan::Plan& plan, setup::PlanOrigin& origin) {
    origin.decision.reset();
    decision.to = hash_of(plan);
    if (decision.to == origin.hash) return;
    decision.schedule = plan.schedule;
    decision.microbatches = plan.microbatches();
    origin.decision = std::move(decision);
}

RecordedChanges take_up_plan(setup::Setup& setup, const std::vector<int>& nodes, int rank) {
    RecordedChanges left = follow_recorded(setup, nodes, rank);
    const setup::Job& job = setup.job;
    if (job.resumes && job.config.policy.decisions.empty()) go_on_in_saved_plan(setup, nodes);
    setup.goes_on_resizing = job.resumes && chooses_as_before(setup);
    return left;
}

}  // namespace trireme::adapt
