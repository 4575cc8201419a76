#include "trireme/adapt/first_layout.hpp"

#include <optional>
#include <string>
#include <utility>

#include "adapt/freeze_chooser.hpp"
#include "adapt/layout_chooser.hpp"
#include "adapt/published_pipe.hpp"
#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/setup/elastic_layout.hpp"

namespace trireme::adapt {
namespace {

bool is_published(const config::PolicyConfig& policy) {
    return may_follow_depth(policy) && policy.freeze.auto_pipe == config::AutoPipe::published;
}

std::optional<plan::Decision> decide(const setup::Setup& setup) {
    const setup::Job& job = setup.job;
    const setup::PlanState& current = setup.current;
    const std::size_t step = job.completed_steps;
    if (is_published(job.config.policy)) return decide_published_pipe(job, current, current.plan.frozen, step);
    if (!setup::plans_depth(job.config, setup.origin.layout)) return std::nullopt;
    LayoutChooser chooser(job, current, setup.origin.layout, current.plan.frozen);
    return chooser.decide({.step = step}, FreezeChooser(job, current).find_next_change(step), {}, {});
}

}  // namespace

void check_first_layout(const setup::Setup& setup) {
    const setup::Job& job = setup.job;
    const plan::Plan& plan = setup.current.plan;
    check_change_times(job, plan, job.ranks());
    if (is_published(job.config.policy))
        decide_published_pipe(job, setup.current, plan.frozen, job.completed_steps);
    const bool checks_lengths = follows_lengths(job, plan);
    const bool checks_memory =
        setup::plans_depth(job.config, setup.origin.layout) && job.config.layout.memory_limit > 0;
    if (!checks_lengths && !checks_memory) return;
    LayoutChooser chooser(job, setup.current, setup.origin.layout, plan.frozen);
    if (checks_lengths) chooser.check_longest_samples();
    if (checks_memory) chooser.check_memory();
}

void choose_first_layout(setup::Setup& setup) {
    if (setup.job.resumes || follows_lengths(setup.job, setup.current.plan)) return;
    setup.origin.has_chosen_layout = may_follow_depth(setup.job.config.policy);
    std::optional<plan::Decision> decision = decide(setup);
    if (!decision) return;
    std::string& explanation = setup.origin.explanation;
    explanation += cat(explanation.empty() ? "" : "; ", "--auto-pipe chooses its layout: ", decision->reason);
    begin_with(std::move(*decision), setup, setup.job.ranks());
}

}  // namespace trireme::adapt
