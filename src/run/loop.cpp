#include "run/backend.hpp"
#include "run/divergence.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/stopping.hpp"
#include "trireme/setup/peak_rate.hpp"

namespace trireme::run {
namespace {

class Run {
public:
    Run(Backend& backend, rank::Tracing& tracing, const comm::Session& session, comm::Communicator& control)
        : backend_(backend), tracing_(tracing), session_(session), control_(control) {}

    Ending take_steps() {
        backend_.prepare(tracing_.trace());
        if (needs_links(job_.config.policy)) {
            const layout::RankLinks links = backend_.trainer().measure_links(control_);
            if (backend_.keeps_records()) parts_.deciding.know_links(links);
        }
        std::size_t step = job_.first_step;
        while (step < job_.steps && !stop_) step = take_stretch(step);
        backend_.save(step, true);
        const bool is_done = step == job_.steps;
        const std::optional<records::Evaluation> validation = is_done ? evaluate(step) : std::nullopt;
        finish(step, validation);
        return is_done ? Ending::done : Ending::stopped;
    }

private:
    // Executes a segment: the steps up to the next evaluation, checkpoint or chance to change the plan. Work
    // may stay in flight between them. Returns the number of steps done so far.
    std::size_t take_stretch(std::size_t first) {
        tracing_.begin_step(first + 1, 0);
        backend_.wait_for_records();
        if (parts_.deciding.may_change_plan(first)) change_plan(first);
        std::size_t end = backend_.end_of_stretch(first);
        backend_.trainer().begin_stretch(first, end);
        for (std::size_t step = first; step < end; ++step) {
            tracing_.begin_step(step + 1, step - first);
            tracing_.made_with(parts_.current.plan);
            const device::TraceSpan span(tracing_.trace(), device::TraceLane::step, "step");
            for (records::StepOutcome& outcome : backend_.trainer().step())
                backend_.settle(std::move(outcome), [this](records::StepOutcome& settled) { record(settled); });
            if (stop_) end = backend_.trainer().end_stretch_early();
            backend_.advance_saving();
        }
        if (end == job_.steps || stop_) return end;
        if (is_due(job_.config.run.eval_every, end)) evaluate(end);
        if (is_due(job_.config.run.checkpoint_every, end)) backend_.save(end, false);
        return end;
    }

    static bool is_due(std::size_t period, std::size_t step) { return period > 0 && step % period == 0; }

    void change_plan(std::size_t step) {
        const double begin = device::now_seconds();
        const std::shared_ptr<adapt::Choice> choice = backend_.choose(step);
        adapt::Deciding& deciding = parts_.deciding;
        const bool is_look = deciding.is_look(step);
        if (backend_.keeps_records()) parts_.recorder.no_change(step, deciding.take_complaint());
        if (choice) {
            device::TraceSpan span(tracing_.trace(), device::TraceLane::compute, "change of plan");
            const records::PlanChange change = backend_.change_plan(*choice, step);
            span.set_bytes(change.moved_bytes);
            if (backend_.keeps_records()) {
                deciding.note(choice->decision, change);
                parts_.recorder.change_plan(choice->decision, change, parts_.current.plan);
            }
        }
        if (choice || is_look) backend_.trainer().share_products();
        if (!choice && is_look && backend_.keeps_records()) parts_.recorder.look(device::now_seconds() - begin);
    }

    void record(records::StepOutcome& outcome) {
        divergence_.locate(outcome, parts_.current.plan, backend_.trainer(), control_, tracing_.trace());
        const std::vector<policy::SlownessChange> changes = parts_.deciding.observe(outcome);
        parts_.recorder.step(outcome, changes);
        if (!stop_ && outcome.stop.reason != records::StopReason::none) stop_ = outcome.stop;
        const std::optional<std::string> complaint = divergence_.complaint_about(outcome);
        if (!complaint) return;
        backend_.finish_saving();  // the last good checkpoint
        write_trace();
        parts_.recorder.diverged(*complaint);
        throw ConfigError(*complaint);
    }

    std::optional<records::Evaluation> evaluate(std::size_t step) {
        const device::TraceSpan span(tracing_.trace(), device::TraceLane::compute, "evaluation");
        const std::optional<records::Evaluation> evaluation = backend_.evaluate();
        if (evaluation) parts_.recorder.evaluation(step, *evaluation);
        return evaluation;
    }

    void write_trace() { tracing_.write(parts_.recorder.path(), session_.host()); }

    void finish(std::size_t step, const std::optional<records::Evaluation>& validation) {
        records::Figures figures = backend_.figures(validation);
        if (step < job_.steps) figures.stopped = {.step = step, .because = rank::words_of(*stop_, job_.config)};
        backend_.finish_saving();
        write_trace();
        if (backend_.keeps_records()) parts_.recorder.finish(std::move(figures));
        backend_.finish();
    }

    Backend& backend_;
    rank::Tracing& tracing_;
    RunParts& parts_ = backend_.parts();
    const setup::Job& job_ = parts_.job;
    const comm::Session& session_;
    comm::Communicator& control_;
    Divergence divergence_{job_.config.run.on_nan};
    std::optional<records::Stop> stop_;  // why the run ends before its last step; empty if it continues
};

}  // namespace

Ending run_steps(Backend& backend, rank::Tracing& tracing, const comm::Session& session,
                 comm::Communicator& control) {
    return Run(backend, tracing, session, control).take_steps();
}

}  // namespace trireme::run
