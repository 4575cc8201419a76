#include "run/backend.hpp"
#include "run/divergence.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/stopping.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/peak_rate.hpp"

namespace trireme::run {
namespace {

// The step loop of a run on this rank.
class Run {
public:
    Run(Backend& backend, rank::Tracing& tracing, const comm::Session& session, comm::Communicator& control)
        : backend_(backend), tracing_(tracing), session_(session), control_(control) {}

    Ending execute() {
        backend_.prepare(tracing_.trace());
        if (needs_links(job_.config.policy)) {
            const layout::RankLinks links = backend_.trainer().measure_links(control_);
            if (backend_.keeps_records()) context_.plan_chooser.set_links(links);
        }
        if (backend_.keeps_records())
            context_.recorder.record_clock_costs(context_.plan_chooser.origin().clock_costs);
        std::size_t step = job_.completed_steps;
        // A run that stops saves its last checkpoint before the evaluation that is due after the same step.
        if (context_.plan_chooser.lacks_evaluation(step)) evaluate(step);
        while (step < count_steps() && !stop_) step = execute_segment(step);
        backend_.save(step, true);
        const bool is_done = step == count_steps();
        const std::optional<records::Evaluation> validation = is_done ? evaluate(step) : std::nullopt;
        finish(step, validation);
        return is_done ? Ending::done : Ending::stopped;
    }

private:
    // Executes the segment that begins with step `first` (from 0): see Backend::plan_segment(). Before the
    // segment, changes the plan if a change is due; afterwards, evaluates and begins a checkpoint if they are
    // due. Returns the number of steps that the run has done.
    std::size_t execute_segment(std::size_t first) {
        tracing_.begin_step(first + 1, 0);  // a change of plan is traced as part of this step
        backend_.wait_for_records();
        if (context_.plan_chooser.may_change_plan(first)) change_plan(first);
        const Segment segment = plan_segment(first);
        backend_.trainer().begin_segment(first, segment.end, segment.next_plan,
                                         context_.plan_chooser.decides_clocks_each_step());
        std::size_t end = segment.end;
        for (std::size_t step = first; step < end; ++step) {
            tracing_.begin_step(step + 1, step - first);
            tracing_.set_plan(context_.current.plan);
            const device::TraceSpan span(tracing_.trace(), device::TraceLane::step, "step");
            for (records::StepOutcome& outcome : backend_.trainer().step()) {
                const bool ends_run =
                    end == count_steps() || stop_ || outcome.stop.reason != records::StopReason::none;
                if (ends_run && outcome.step + 1 == end) backend_.add_last_energy(outcome);
                backend_.settle(std::move(outcome), [this](records::StepOutcome& settled) { record(settled); });
            }
            if (stop_) end = backend_.trainer().end_segment_early();
            backend_.advance_saving();
        }
        if (end == count_steps() || stop_) return end;
        if (is_due(job_.config.run.eval_every, end)) evaluate(end);
        if (is_due(job_.config.run.checkpoint_every, end)) backend_.save(end, false);
        return end;
    }

    // If the layout follows the lengths of samples, ranks decide about the next step here.
    Segment plan_segment(std::size_t first) {
        device::Trace* const trace = context_.plan_chooser.looks_ahead() ? tracing_.trace() : nullptr;
        const device::TraceSpan span(trace, device::TraceLane::compute, "decision");
        return backend_.plan_segment(first);
    }

    std::size_t count_steps() const { return context_.current.samples.count_steps(); }

    static bool is_due(std::size_t period, std::size_t step) { return period > 0 && step % period == 0; }

    // Changes the plan after `step` steps if the backend chooses a change. Otherwise keeps the plan, and
    // records why if the policy requested a change.
    void change_plan(std::size_t step) {
        const double begin_seconds = device::now_seconds();
        const std::shared_ptr<adapt::Choice> choice = backend_.choose(step);
        adapt::PlanChooser& plan_chooser = context_.plan_chooser;
        const bool is_policy_step = plan_chooser.is_policy_step(step);
        if (backend_.keeps_records()) {
            context_.recorder.record_plan_kept(step, plan_chooser.take_refusal());
            context_.recorder.record_settled_clocks(step, plan_chooser.take_energy_report());
        }
        if (choice) {
            device::TraceSpan span(tracing_.trace(), device::TraceLane::compute, "change of plan");
            const records::PlanChange change = backend_.change_plan(*choice, step);
            span.set_bytes(change.moved_bytes);
            if (backend_.keeps_records()) {
                plan_chooser.note_change(*choice, change);
                context_.recorder.record_plan_change(choice->decision, change, context_.current);
                if (choice->decision.policy == plan::sweep_policy)
                    context_.recorder.record_clock_costs(plan_chooser.origin().clock_costs);
            }
            // In a ghost run, all ranks then plan their steps from the same change.
            if (plan_chooser.looks_ahead() || needs_pass_times(job_)) backend_.wait_for_records();
        }
        if (choice || is_policy_step) backend_.trainer().rebalance_matmuls();
        if (!choice && is_policy_step && backend_.keeps_records())
            context_.recorder.record_decision_time(device::now_seconds() - begin_seconds);
    }

    // Called for each step in order. Throws ConfigError if --on-nan ends the run.
    void record(records::StepOutcome& outcome) {
        divergence_.find_cause(outcome, context_.current.plan, backend_.trainer(), control_, tracing_.trace());
        const std::vector<policy::SlownessChange> changes = context_.plan_chooser.observe(outcome);
        context_.recorder.record_step(outcome, changes);
        if (!stop_ && outcome.stop.reason != records::StopReason::none) stop_ = outcome.stop;
        const std::optional<std::string> complaint = divergence_.find_complaint(outcome);
        if (!complaint) return;
        backend_.finish_saving();  // completes the last good checkpoint
        write_trace();
        context_.recorder.record_divergence(*complaint);
        throw ConfigError(*complaint);
    }

    std::optional<records::Evaluation> evaluate(std::size_t step) {
        const device::TraceSpan span(tracing_.trace(), device::TraceLane::compute, "evaluation");
        const std::optional<records::Evaluation> evaluation = backend_.evaluate();
        if (evaluation) context_.recorder.record_evaluation(step, *evaluation);
        if (evaluation) context_.plan_chooser.observe(*evaluation, step);
        return evaluation;
    }

    void write_trace() { tracing_.write(context_.recorder.path(), session_.host()); }

    void finish(std::size_t step, const std::optional<records::Evaluation>& validation) {
        records::Figures figures = backend_.compute_figures(validation);
        figures.before_clocks = context_.plan_chooser.origin().baseline;
        if (step < count_steps())
            figures.early_end = {.step = step, .reason = rank::describe(*stop_, job_.config)};
        backend_.finish_saving();
        write_trace();
        if (backend_.keeps_records()) {
            context_.recorder.record_settled_clocks(step, context_.plan_chooser.describe_lack_of_clocks());
            context_.recorder.record_end(std::move(figures));
        }
        backend_.finish();
    }

    Backend& backend_;
    rank::Tracing& tracing_;
    RunContext& context_ = backend_.context();
    const setup::Job& job_ = context_.job;
    const comm::Session& session_;
    comm::Communicator& control_;
    Divergence divergence_{job_.config.run.on_nan};
    std::optional<records::Stop> stop_;  // why the run ends early; empty while no rank requests a stop
};

}  // namespace

Ending run_steps(Backend& backend, rank::Tracing& tracing, const comm::Session& session,
                 comm::Communicator& control) {
    return Run(backend, tracing, session, control).execute();
}

}  // namespace trireme::run
