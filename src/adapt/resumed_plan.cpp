#include "trireme/adapt/resumed_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trireme/adapt/first_layout.hpp"
#include "trireme/adapt/plan_transition.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/clocks.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::adapt {
namespace {

using Json = nlohmann::ordered_json;

// The entry of a checkpoint about the origin of the saved plan. A checkpoint has this entry only if the saved
// plan was not the plan of the options.
struct SavedOrigin {
    std::string hash;              // hash of the plan of the options
    std::string straggler;         // value of --straggler
    std::vector<double> slowness;  // per rank; see plan::Observation
    std::size_t steady_steps = 0;  // steps since a rank's slowness last changed
    std::size_t quiet_steps = 0;   // this and the next one: see PlanOrigin
    std::vector<double> clocked_slowness;
    plan::ClockCosts clock_costs = {};  // of a sweep
    std::optional<setup::StepFigures> baseline = {};
    plan::Decision decision = {};  // the decision that led to the plan
};

std::optional<double> parse_joules(const Json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

// Parses the entry of a checkpoint. Empty if the entry does not have the form that this program writes.
std::optional<SavedOrigin> parse_saved_origin(const Json& facts, const std::string& place) {
    try {
        SavedOrigin saved{.hash = facts.at("options_plan"),
                          .straggler = facts.at("straggler"),
                          .slowness = facts.at("slowness"),
                          .steady_steps = facts.at("steady_steps"),
                          .quiet_steps = facts.value("quiet_steps", std::size_t{0}),
                          .clocked_slowness = facts.value("clocked_slowness", std::vector<double>()),
                          .decision = plan::parse_decisions(facts.at("decision").dump(), place).at(0)};
        if (facts.contains("baseline"))
            saved.baseline = {.seconds = facts.at("baseline").at("seconds"),
                              .joules = parse_joules(facts.at("baseline").at("joules")),
                              .min_joules = parse_joules(facts.at("baseline").at("min_joules"))};
        if (facts.contains("clock_costs"))
            saved.clock_costs = plan::parse_clock_costs(facts.at("clock_costs").dump(), place);
        saved.clock_costs.file.clear();
        if (std::ranges::all_of(saved.slowness, [](double factor) { return factor >= 1; })) return saved;
    } catch (const Json::exception&) {  // a field is missing or has another type
    } catch (const ConfigError&) {      // the decision is malformed
    }
    return std::nullopt;
}

// Describes a difference between the saved run and this run that makes the saved decision useless. Returns an
// empty string if there is no such difference.
std::string describe_difference(const SavedOrigin& saved, const setup::Setup& setup, std::size_t ranks) {
    if (saved.slowness.size() != ranks)
        return cat("the checkpoint was saved with ", format_count(saved.slowness.size(), "rank"),
                   ", but this job has ", ranks);
    const std::string straggler = find_name(config::straggler_policies, setup.job.config.policy.straggler);
    if (saved.straggler != straggler)
        return cat("the checkpoint was saved with --straggler ", saved.straggler,
                   ", but this run has --straggler ", straggler);
    if (saved.hash != setup.origin.hash)
        return cat("the options of the saved run gave plan ", saved.hash, ", but those of this run give ",
                   setup.origin.hash);
    return {};
}

// Applies the saved decision to the plan of the options. Returns why that is impossible; empty on success. The
// hash `from` of the decision is not checked, because the decision may have been made under another plan than
// that of the options.
std::string apply_saved_decision(SavedOrigin saved, setup::Setup& setup) {
    plan::Decision decision = saved.decision;
    decision.from.clear();
    try {
        setup.current = make_state(setup.job, setup.current, setup.job.ranks(), decision);
    } catch (const ConfigError& error) {
        return error.what();
    }
    const std::string reason = decision.reason.empty() ? "" : cat(" (", decision.reason, ")");
    setup.origin.explanation = cat("this run continues with plan ", compute_hash(setup.current.plan),
                                   ", chosen after step ", decision.step, reason);
    setup.origin.slowness = std::move(saved.slowness);
    setup.origin.steady_steps = saved.steady_steps;
    setup.origin.quiet_steps = saved.quiet_steps;
    setup.origin.clocked_slowness = std::move(saved.clocked_slowness);
    setup.origin.clock_costs = std::move(saved.clock_costs);
    setup.origin.baseline = saved.baseline;
    note_origin(std::move(saved.decision), setup.current.plan, setup.origin);
    return {};
}

// Freezes the blocks of the checkpoint in the plan of the options. Throws ConfigError if that is impossible.
void keep_saved_depth(const plan::Decision& saved, setup::Setup& setup) {
    if (!saved.frozen || *saved.frozen == setup.current.plan.frozen) return;
    plan::Decision decision{.step = saved.step,
                            .layout = setup.current.plan.layout,
                            .frozen = saved.frozen,
                            .policy = saved.policy,
                            .reason = saved.reason};
    std::string why;
    auto state = try_make_state(setup.job, setup.current, setup.job.ranks(), decision, why,
                                setup::plans_depth(setup.job.config, setup.origin.layout));
    if (!state) throw ConfigError(why);
    setup.current = std::move(*state);
    setup.origin.explanation +=
        cat("; it freezes ", format_count(static_cast<std::size_t>(*saved.frozen), "block"),
            " as the checkpoint does");
    note_origin(std::move(decision), setup.current.plan, setup.origin);
}

// True if --frozen differs from the saved run's. A job script that repeats its options changes nothing.
bool has_new_depth(const config::RunConfig& config) {
    if (!config.resumed_options) return false;
    const std::vector<config::OptionValue>& saved = config.resumed_options->saved.values;
    const auto depth = std::ranges::find(saved, "frozen", &config::OptionValue::name);
    return (depth == saved.end() ? "0" : depth->value) != cat(config.layout.frozen);
}

// Applies the checkpoint's decision, if the checkpoint has one. If this run cannot use the decision, keeps the
// plan of the options, with the checkpoint's frozen blocks, and explains why in setup.origin.explanation.
void resume_saved_plan(setup::Setup& setup) {
    const checkpoint::StoredModel& stored = *setup.job.stored_model;
    const Json run = Json::parse(stored.state()->run);
    if (!run.contains(origin_key)) return;
    auto saved = parse_saved_origin(run.at(origin_key), stored.path());
    std::string why = saved ? describe_difference(*saved, setup, setup.job.nodes.size())
                            : cat("the entry \"", origin_key, "\" in ", stored.path(),
                                  " is not in the form that this program writes");
    if (saved && has_new_depth(setup.job.config)) {
        saved->decision.frozen = setup.job.config.layout.frozen;
        saved->decision.to.clear();
    }
    if (why.empty()) why = apply_saved_decision(*saved, setup);
    setup.origin.has_chosen_layout = why.empty() && !has_new_depth(setup.job.config);
    if (why.empty()) return;
    setup.origin.explanation =
        cat("this run begins with the plan of its options, not with that of the checkpoint: ", why);
    if (saved) keep_saved_depth(saved->decision, setup);
}

// True if the plan and the rule for choosing pruned channels are those of the checkpoint.
bool has_resizing_of_checkpoint(const setup::Setup& setup) {
    const std::string resizing = describe_resizing(setup.job, setup.current);
    const Json run = Json::parse(setup.job.stored_model->state()->run);
    return !resizing.empty() && run.contains(resizing_key) && run.at(resizing_key) == Json::parse(resizing) &&
           run.value("plan", Json()) == compute_hash(setup.current.plan);
}

// Without --auto-pipe, blocks freeze and thaw in the layout of the options. Checks the first freeze, which
// needs the most memory, and a thaw of all blocks that a rule may have frozen.
void check_changes_of_depth(const setup::Setup& setup, int rank, ChangeMemory& memory) {
    const setup::Job& job = setup.job;
    if (!may_freeze(job.config.policy) || may_follow_depth(job.config.policy)) return;
    const auto add_change = [&](const setup::PlanState& from, int frozen) {
        PlanTransition transition = plan_transition(job, from,
                                                    {.step = job.completed_steps,
                                                     .layout = from.plan.layout,
                                                     .schedule = from.plan.schedule,
                                                     .frozen = frozen,
                                                     .policy = "freeze"});
        memory.rank = std::max(memory.rank, transition.predict_max_bytes(job, rank));
        memory.node = std::max(memory.node,
                               transition.predict_node_bytes(job, job.nodes[static_cast<std::size_t>(rank)]));
        return std::move(transition.to);
    };
    const int deeper = std::min(setup.current.plan.frozen + 1, static_cast<int>(job.model.layers));
    const setup::PlanState frozen = add_change(setup.current, deeper);
    if (job.config.policy.freeze.thaws) add_change(frozen, std::min(deeper, job.config.layout.frozen));
}

std::vector<plan::Decision> read_decisions(const std::string& file) {
    if (file.empty()) return {};
    return plan::parse_decisions(read_regular_file(file, "--decisions"), file);
}

// Throws ConfigError if one of the steps from `begin` to `end` - 1 does not fit into the memory of the plan.
void check_memory_of_steps(const setup::Job& job, const setup::PlanState& state, std::size_t begin,
                           std::size_t end) {
    if (job.config.policy.decisions.empty() || !may_lack_memory(job, state.plan)) return;
    const bool forms_by_rows = state.max_microbatch_rows > 0;
    if (!forms_by_rows && explain_lack_for_largest_microbatches(job, state).empty()) return;
    setup::StepPlanner planner(job, state);
    for (std::size_t step = begin; step < end; ++step) planner.plan_step(step);
}

// Applies the decisions of --decisions whose step is below Job::completed_steps, and one before the first step.
// Checks the remaining decisions and returns them.
RecordedChanges apply_recorded_decisions(setup::Setup& setup, int rank) {
    const setup::Job& job = setup.job;
    RecordedChanges remaining_changes;
    setup::PlanState next_state;  // plan after the last decision in remaining_changes
    std::size_t begin = job.completed_steps;
    for (plan::Decision& decision : read_decisions(job.config.policy.decisions)) {
        const setup::PlanState& from = remaining_changes.decisions.empty() ? setup.current : next_state;
        if (const std::size_t steps = from.samples.count_steps(); decision.step >= steps) {
            throw ConfigError(cat("--decisions ", job.config.policy.decisions, " changes the plan after step ",
                                  decision.step, ", but the run ends after step ", steps,
                                  "; remove this decision, or train longer"));
        }
        if (decision.step > begin) check_memory_of_steps(job, from, begin, decision.step);
        begin = std::max(begin, decision.step);
        const int ranks = job.ranks();
        if (decision.step == 0 && !job.resumes) {
            begin_with(std::move(decision), setup, ranks);
            continue;
        }
        if (decision.step < job.completed_steps) {
            setup.current = make_state(job, setup.current, ranks, decision);
            note_origin(std::move(decision), setup.current.plan, setup.origin);
            continue;
        }
        PlanTransition transition = plan_transition(job, from, decision);
        remaining_changes.memory.rank =
            std::max(remaining_changes.memory.rank, transition.predict_max_bytes(job, rank));
        remaining_changes.memory.node =
            std::max(remaining_changes.memory.node,
                     transition.predict_node_bytes(job, job.nodes[static_cast<std::size_t>(rank)]));
        next_state = std::move(transition.to);
        if (sets_clocks(next_state.plan.training.phases())) remaining_changes.sets_clocks = true;
        remaining_changes.decisions.push_back(std::move(decision));
    }
    const setup::PlanState& last = remaining_changes.decisions.empty() ? setup.current : next_state;
    check_memory_of_steps(job, last, begin, last.samples.count_steps());
    return remaining_changes;
}

}  // namespace

std::string describe_resizing(const setup::Job& job, const setup::PlanState& current) {
    const plan::Plan& plan = current.plan;
    if (plan.max_skipped_fraction == 0) return {};
    Json facts{{"select", find_name(config::channel_policies, job.config.policy.resize.channel_policy)}};
    if (plan.keeps_skipped_gradients)
        facts["remembers_gradients_of_rows"] = setup::make_resizer_config({job, current}).max_rows;
    return facts.dump();
}

std::string describe_origin(const setup::Job& job, const setup::PlanOrigin& origin,
                            const plan::Observation& observed) {
    if (!origin.decision) return {};
    Json facts{{"options_plan", origin.hash},
               {"straggler", find_name(config::straggler_policies, job.config.policy.straggler)},
               {"slowness", observed.slowness},
               {"steady_steps", observed.steady_steps},
               {"quiet_steps", origin.quiet_steps},
               {"clocked_slowness", origin.clocked_slowness},
               {"decision", Json::parse(to_json(*origin.decision))}};
    const auto list_joules = [](const std::optional<double>& joules) {
        return joules ? Json(*joules) : Json();
    };
    if (origin.baseline)
        facts["baseline"] = {{"seconds", origin.baseline->seconds},
                             {"joules", list_joules(origin.baseline->joules)},
                             {"min_joules", list_joules(origin.baseline->min_joules)}};
    if (origin.clock_costs.are_measured()) facts["clock_costs"] = Json::parse(to_json(origin.clock_costs));
    return facts.dump();
}

// Stores `decision` in `origin`, unless the decision leads to the plan of the options. Sets the schedule, the
// number of micro-batches and the frozen blocks of the stored decision. Unset numbers would mean those of the
// plan before the decision, which a resumed run does not know.
void note_origin(plan::Decision decision, const plan::Plan& plan, setup::PlanOrigin& origin) {
    origin.decision.reset();
    decision.to = compute_hash(plan);
    if (decision.to == origin.hash && !origin.clock_costs.are_measured()) return;
    decision.schedule = plan.schedule;
    decision.microbatches = plan.microbatches();
    decision.frozen = plan.frozen;
    origin.decision = std::move(decision);
}

void begin_with(plan::Decision decision, setup::Setup& setup, int ranks) {
    const setup::Job& job = setup.job;
    const std::string from = compute_hash(setup.current.plan);
    std::optional<setup::StepFigures> baseline;
    setup.current = make_state(job, setup.current, ranks, decision, &baseline);
    if (baseline) setup.origin.baseline = baseline;
    const plan::Plan& plan = setup.current.plan;
    if (decision.policy.empty()) decision.policy = "recorded";
    if (job.config.policy.energy != config::Energy::baseline || !decision.clocks.empty())
        decision.clocks = list_pass_clocks(plan);
    decision.extra_forwards = plan.training.shape.extra_forwards;
    note_origin(decision, plan, setup.origin);
    decision.from = from;
    decision.to = compute_hash(plan);
    decision.schedule = plan.schedule;
    decision.microbatches = plan.microbatches();
    if (may_grow_batch(job.config.policy)) decision.batch = setup.current.samples.batch;
    if (plan.frozen > 0) decision.frozen = plan.frozen;
    decision.terms["moved_bytes"] = decision.terms["kept_bytes"] = 0;
    decision.predicted_seconds.reset();
    decision.measured_seconds.reset();
    setup.origin.first_decision = std::move(decision);
}

// With --decisions, the plan of the options may only exceed --memory-limit if the run begins with another one.
void check_memory_of_options(const setup::Setup& setup, int ranks) {
    const setup::Job& job = setup.job;
    if (job.config.policy.decisions.empty() || job.resumes || setup.origin.first_decision) return;
    const plan::Plan& plan = setup.current.plan;
    std::string why;
    if (!try_make_state(job, setup.current, ranks, {.layout = plan.layout, .schedule = plan.schedule}, why))
        throw ConfigError(why);
}

RecordedChanges choose_first_plan(setup::Setup& setup, int rank) {
    check_first_layout(setup);
    setup.origin.baseline = choose_clocks(setup.job, setup.job.ranks(), setup.current);
    setup.origin.hash = compute_hash(setup.current.plan);
    if (sweeps_clocks(setup.job)) check_change(setup.job.config, setup.current.plan);
    RecordedChanges remaining_changes = apply_recorded_decisions(setup, rank);
    const setup::Job& job = setup.job;
    if (job.config.policy.freeze.auto_pipe == config::AutoPipe::on) check_memory_of_options(setup, job.ranks());
    const auto has_no_clocks = [](const plan::Decision& decision) { return decision.clocks.empty(); };
    const std::optional<plan::Decision>& first = setup.origin.first_decision;
    if (sweeps_clocks(job) && (first || !remaining_changes.decisions.empty()) &&
        (!first || has_no_clocks(*first)) && std::ranges::all_of(remaining_changes.decisions, has_no_clocks))
        throw ConfigError(
            cat("--decisions ", job.config.policy.decisions,
                " has no \"clocks\", and a run with recorded decisions measures no costs by clock; "
                "name measured costs with --clock-costs FILE, or remove --energy"));
    if (job.resumes && job.config.policy.decisions.empty()) resume_saved_plan(setup);
    choose_first_layout(setup);
    check_changes_of_depth(setup, rank, remaining_changes.memory);
    setup.resumes_resizing = job.resumes && has_resizing_of_checkpoint(setup);
    return remaining_changes;
}

}  // namespace trireme::adapt
