#include "trireme/run/train.hpp"

#include <algorithm>
#include <iostream>

#include "run/continuation.hpp"
#include "run/divergence.hpp"
#include "run/ghost_run.hpp"
#include "run/last_records.hpp"
#include "run/manifest_of.hpp"
#include "run/resume.hpp"
#include "run/saving.hpp"
#include "run/stretch.hpp"
#include "trireme/adapt/deciding.hpp"
#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/adapt/straggler_check.hpp"
#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/adapt/switching.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/archive/partial_folder.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/rank/rank_trainer.hpp"
#include "trireme/rank/stopping.hpp"
#include "trireme/rank/tracing.hpp"
#include "trireme/rank/watchdog.hpp"
#include "trireme/records/console.hpp"
#include "trireme/records/run_directory.hpp"
#include "trireme/setup/device_choice.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/peak_rate.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/profile_choice.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme {
namespace {

// The run from its first step to its last, on every rank; rank 0 also keeps the records.
class Run {
public:
    Run(const RunConfig& config, const Session& session, Communicator& control, Watchdog& watchdog,
        Stopping& stopping, Continuation& continuation, Setup setup, const RecordedPlans& recorded)
        : config_(config),
          setup_(std::move(setup)),
          session_(session),
          control_(control),
          watchdog_(watchdog),
          stopping_(stopping),
          continuation_(continuation),
          gradients_(gradient_plan(setup_)),
          memory_(fullest(control, plan_memory(setup_, &config.optimizer, gradients_, session.rank(),
                                               config.run.checkpoint_every > 0))),
          flops_(model_flops(setup_.model)),
          most_bytes_(most_bytes(config, setup_, recorded, session.rank())),
          most_twin_bytes_(most_twin_bytes(config, setup_, recorded, session)),
          deciding_(config_, setup_, session.nodes(), recorded.decisions),
          threads_(threads_per_rank(config, session, control)),
          road_(gpu_road(config, session, control)),
          is_first_(session.rank() == 0),
          console_(std::cout, config_, setup_),
          manifest_(manifest_of({config_, setup_, session, gather_all(control, session.host()), threads_,
                                 cores_of_ranks(control), road_.messages.sentence})) {}

    // Collective. Says what would be done, and what would keep it from being done.
    Ending show_plan() {
        if (is_first_) console_.introduce(manifest_, memory_, {});
        refuse_what_cannot_be();
        return Ending::done;
    }

    // Collective. Refuses what a node cannot hold, a stored model that cannot be read, and a run directory that
    // cannot be used.
    void prepare() {
        refuse_what_cannot_be();
        manifest_.peak = peak_of_all(control_, config_, setup_, threads_, session_);
        allocated_bytes_ = forget_peak(setup_.place);
        start_trainer(running_);
        watchdog_.ask([this] { return trainer_->position(); });
        control_.never_give_up();  // while ranks read, of which one may have much to read
        agree(control_, [&] { trainer_->fill(); });
        limit_patience(running_);
        agree(control_, [&] {
            if (is_first_) directory_ = open_run_directory(config_, setup_.model.name, setup_.kept_steps);
        });
        prepare_saving();
    }

    Ending train() {
        if (needs_links(config_.policy)) deciding_.know_links(trainer_->measure_links(control_));
        if (is_first_) {
            directory_->write_config(config_.resolved);
            directory_->write_manifest(manifest_);
            console_.introduce(manifest_, memory_, directory_->path().string());
            console_.remarks(directory_->remarks());
        }
        FigureSum sum(flops_, manifest_.peak.flops, control_.size(),
                      bubble_of_schedule(setup_.plan, control_.size()));
        sum.go_on_from(setup_.earlier);
        sum.leave_out(left_out_shares(setup_.plan.migrations, setup_.plan.left_out));
        std::size_t step = setup_.first_step;
        while (step < setup_.steps && !stop_) step = take_stretch(step, sum);
        save(step, true);
        const bool is_done = step == setup_.steps;
        const std::optional<Evaluation> validation = is_done ? evaluate(step) : std::nullopt;
        sum.measure_peak_again(peak_again(manifest_.peak, control_, config_, setup_, threads_, session_));
        Figures figures = sum.finish(validation);
        figures.slowed = words_of(config_.emulation.slow);
        if (!is_done) figures.stopped = {.step = step, .because = words_of(*stop_, config_)};
        finish(std::move(figures));
        return is_done ? Ending::done : Ending::stopped;
    }

private:
    void refuse_what_cannot_be() {
        refuse_more_than_own_device(setup_.devices, most_bytes_, control_);
        refuse_more_than_memory(most_bytes_, setup_.place, session_, control_);
        refuse_more_than_memory(memory_.copy_beside_gpu, Place::memory, session_, control_);
        agree(control_, [&] {
            if (twin_) refuse_more_than_is_left(*twin_, most_twin_bytes_, session_);
            if (is_first_ && !setup_.kept_steps) refuse_used(config_.run.run_dir);
        });
    }

    // Collective. Rank 0 says where checkpoints go and what they are called, and clears away what is not whole.
    void prepare_saving() {
        SavingPlan plan = plan_saving(config_, setup_, gradients_, session_.size());
        std::string folder;
        if (is_first_) {
            folder = std::filesystem::absolute(directory_->path() / checkpoints_folder).string();
            remove_partial(folder);
        }
        plan.checkpoints = gather_all(control_, folder).front();
        continuation_.saved(plan.checkpoints.parent_path(), setup_.kept_steps.value_or(0));
        plan.run = gather_all(control_, random_digits()).front();
        const Lookout* const lookout = watchdog_.patience().lookout;
        saving_.emplace(std::move(plan), session_.all_ranks("saving", watchdog_.patience()), [lookout] {
            if (lookout != nullptr) lookout->look(0);
        });
        saving_->note_in(tracing_.trace());
        save_before_updates();
    }

    void save_before_updates() {
        trainer_->call_before_update([this] { saving_->before_update(); });
    }

    // From one evaluation or checkpoint to the next, for which nothing may be in flight; of a synchronous
    // schedule, which has nothing in flight, one step. Gives the step behind.
    std::size_t take_stretch(std::size_t first, FigureSum& sum) {
        tracing_.begin_step(first + 1, 0);
        change_plan(first, sum);
        std::size_t end = end_of_stretch(first);
        trainer_->begin_stretch(first, end);
        for (std::size_t step = first; step < end; ++step) {
            tracing_.begin_step(step + 1, step - first);
            tracing_.made_with(setup_.plan);
            const TraceSpan span(tracing_.trace(), TraceLane::step, "step");
            for (StepOutcome& outcome : trainer_->step()) record(outcome, sum);
            if (stop_) end = trainer_->end_stretch_early();
            advance_saving();
        }
        if (end == setup_.steps || stop_) return end;
        if (is_due(config_.run.eval_every, end)) evaluate(end);
        if (is_due(config_.run.checkpoint_every, end)) save(end, false);
        return end;
    }

    static bool is_due(std::size_t period, std::size_t step) { return period > 0 && step % period == 0; }

    // If a policy wants another one behind `step` steps.
    void change_plan(std::size_t step, FigureSum& sum) {
        const double begin = now_seconds();
        std::optional<Choice> choice = deciding_.choose(step);
        if (deciding_.is_look(step)) refuse_unlike_plans(control_, choice, step);
        // Recorded plans were held against the memory before the first step.
        if (choice && !choice->is_recorded && !stays_in_place(setup_.plan, choice->next.plan) &&
            !has_room_for(*choice))
            choice.reset();
        const std::string why = deciding_.take_complaint();
        if (is_first_) note_no_change(step, why, *directory_, console_);
        if (choice) follow_choice(*choice, step, sum);
        if (choice || deciding_.is_look(step)) trainer_->share_products();
        if (!choice && deciding_.is_look(step)) sum.add_look(now_seconds() - begin);
    }

    void follow_choice(Choice& choice, std::size_t step, FigureSum& sum) {
        const PlanChange change = stays_in_place(setup_.plan, choice.next.plan)
                                      ? share_products_by(choice.next.plan)
                                      : move_to(choice, step);
        sum.add_change_of_plan(change, bubble_of_schedule(setup_.plan, control_.size()));
        sum.leave_out(left_out_shares(setup_.plan.migrations, setup_.plan.left_out));
        deciding_.note(choice.decision, change);
        note_origin(choice.decision, setup_);
        if (!is_first_) return;
        directory_->add_decision(choice.decision);
        console_.change_of_plan(choice.decision, change);
    }

    PlanChange share_products_by(const Plan& next) {
        const PlanChange change{.from = hash_of(setup_.plan), .to = hash_of(next)};
        setup_.plan.left_out = next.left_out;
        setup_.plan.migrations = next.migrations;
        most_bytes_ = std::max(most_bytes_, most_bytes(config_, setup_, {}, session_.rank()));
        return change;
    }

    PlanChange move_to(Choice& choice, std::size_t step) {
        TraceSpan span(tracing_.trace(), TraceLane::compute, "change of plan");
        saving_->finish();  // what is being copied is about to move
        running_.save = [this, step] { return saving_->save_at_once(step, state_behind(step)); };
        const PlanChange change = switch_to(std::move(choice.next), running_);
        span.set_bytes(change.moved_bytes);
        saving_->change_parts(parts_of(gradients_, session_.size()));
        save_before_updates();
        are_steps_apart_ = setup_.plan.training.ends_with_step();
        return change;
    }

    // Collective. Of a plan that was not known when the run began, beside what is held already.
    bool has_room_for(const Choice& choice) {
        const RecordedPlans to{{choice.decision}, {choice.next}};
        const std::size_t most = most_bytes(config_, setup_, to, session_.rank());
        try {
            refuse_more_than_own_device(setup_.devices, most, control_);
            refuse_more_than_memory(most - std::min(most, grown_bytes()), setup_.place, session_, control_);
            agree(control_, [&] {
                if (twin_)
                    refuse_more_than_is_left(*twin_, most_twin_bytes(config_, setup_, to, session_), session_);
            });
        } catch (const ConfigError& error) {
            deciding_.refuse(error.what());
            return false;
        }
        most_bytes_ = std::max(most_bytes_, most);
        return true;
    }

    std::size_t grown_bytes() const { return peak_allocated_bytes(setup_.place) - allocated_bytes_; }

    std::size_t end_of_stretch(std::size_t first) const {
        if (are_steps_apart_) return first + 1;
        return longest_stretch(first, deciding_.next_chance(first), setup_.plan, config_.run);
    }

    void record(StepOutcome& outcome, FigureSum& sum) {
        sum.add(outcome);
        setup_.earlier = sum.so_far();
        divergence_.locate(outcome, running_);
        const std::vector<SlownessChange> changes = deciding_.observe(outcome);
        if (is_first_) {
            directory_->add_step(outcome.step + 1, outcome, flops_, manifest_.peak.flops);
            console_.step(outcome.step, outcome, flops_, manifest_.peak.flops);
            for (const SlownessChange& change : changes) console_.slowness(outcome.step, change, manifest_);
        }
        if (!stop_ && outcome.stop.reason != StopReason::none) stop_ = outcome.stop;
        end_if_diverged(outcome, sum);
    }

    void end_if_diverged(const StepOutcome& outcome, const FigureSum& sum) {
        const std::optional<std::string> complaint = divergence_.complaint_about(outcome);
        if (!complaint) return;
        saving_->finish();  // what was good before
        write_trace();
        if (is_first_) directory_->write_summary(sum.finish_invalid(*complaint));
        throw ConfigError(*complaint);
    }

    std::optional<Evaluation> evaluate(std::size_t step) {
        if (setup_.samples.validation.empty()) return std::nullopt;
        const TraceSpan span(tracing_.trace(), TraceLane::compute, "evaluation");
        const Evaluation evaluation = trainer_->evaluate(control_);
        if (is_first_) {
            directory_->add_evaluation(step, evaluation);
            console_.evaluation(step, evaluation);
        }
        return evaluation;
    }

    RunState state_behind(std::size_t step) {
        return {.facts = run_facts(config_, setup_, deciding_.observed(step)),
                .views = trainer_->views(),
                .updates = trainer_->updates(),
                .resizing = trainer_->resizing_state()};
    }

    // What all hold, when `step` steps are behind them, and nothing may follow.
    void save(std::size_t step, bool is_last) {
        const TraceSpan span(tracing_.trace(), TraceLane::compute, "beginning of a checkpoint");
        saving_->begin(step, state_behind(step), is_last);
        if (is_first_ && !saving_->waits().empty() && saving_->waits().back().step == step)
            console_.waited_to_save(saving_->waits().back());
        advance_saving();
    }

    void advance_saving() {
        saving_->advance();
        say_what_was_saved();
    }

    void say_what_was_saved() {
        for (const SaveOutcome& outcome : saving_->take_outcomes()) {
            stopping_.saved_in(outcome.seconds);
            if (outcome.complaint.empty()) continuation_.saved(directory_->path(), outcome.step);
            console_.saved(outcome);
            lost_ = outcome.complaint;
        }
    }

    void write_trace() { tracing_.write(is_first_ ? directory_->path() : "", session_.host()); }

    void finish(Figures figures) {
        add_costs(figures, *saving_, {.grown = grown_bytes(), .predicted = most_bytes_}, control_);
        saving_->finish();
        say_what_was_saved();
        write_trace();
        if (is_first_) write_last_records(std::move(figures), lost_, *directory_, console_);
        saving_->refuse_lost();
    }

    const RunConfig& config_;
    Setup setup_;
    const Session& session_;
    Communicator& control_;
    Watchdog& watchdog_;
    Stopping& stopping_;
    Continuation& continuation_;
    GradientPlan gradients_;
    RankMemory memory_;  // of the fullest rank
    ModelFlops flops_;
    std::size_t most_bytes_;       // of this rank: by all plans, and between them
    std::size_t most_twin_bytes_;  // of this node; 0: --move does without
    Deciding deciding_;
    int threads_;
    GpuRoad road_;
    bool is_first_;
    Console console_;
    Manifest manifest_;
    bool are_steps_apart_ = setup_.plan.training.ends_with_step();
    Divergence divergence_{config_.run.on_nan};
    std::optional<Stop> stop_;         // empty: the run continues
    std::size_t allocated_bytes_ = 0;  // before the trainer was made
    Tracing tracing_{config_.run.trace, control_};
    std::optional<RankTrainer> trainer_;
    std::unique_ptr<Communicator> mover_ = session_.all_ranks("mover", watchdog_.patience());
    std::unique_ptr<NodeMemory> twin_ = make_twin(config_.policy.move, session_, watchdog_.patience());
    RunningPlan running_{.config = config_,
                         .session = session_,
                         .control = control_,
                         .mover = *mover_,
                         .watchdog = watchdog_,
                         .setup = setup_,
                         .gradients = gradients_,
                         .trainer = trainer_,
                         .threads = threads_,
                         .road = road_,
                         .trace = tracing_.trace(),
                         .stopping = &stopping_,
                         .nodes = session_.nodes(),
                         .twin = twin_.get()};
    std::unique_ptr<RunDirectory> directory_;  // of rank 0
    std::optional<Saving> saving_;
    std::string lost_;  // on rank 0: why the newest checkpoint that ended is not on disk; empty: it is
};

}  // namespace

Ending train(const RunConfig& told, Session& session, StopSignals* signals) {
    Stopping stopping(told, signals);
    Watchdog watchdog(session, told.run.stall_timeout);
    const auto control = session.all_ranks("control", watchdog.patience());
    const RunConfig config =
        with_profiles_of_ranks(with_device_of_ranks(told, session, *control), session, *control);
    if (is_of_ghosts(config)) return run_ghosts(config, session, *control, watchdog.patience());
    std::optional<Setup> setup;
    RecordedPlans recorded;
    agree(*control, [&] {
        setup = set_up_from_checkpoint(config, session.size());
        check_traced_steps(config.run.trace, setup->steps);
        setup->slow = slow_run_of(config, *setup, session.size());
        check_straggler(config, *setup);
        recorded = take_up_plan(config, *setup, session.size());
    });
    require_same_setup(*control, *setup);
    setup->gpu = gpu_of_run(config, *setup, session, *control, signals);
    Continuation continuation(session.rank() == 0 ? signals : nullptr);
    Run run(config, session, *control, watchdog, stopping, continuation, std::move(*setup), recorded);
    const MessagesOfScope messages(watchdog.postman());
    if (config.run.dry_run) return run.show_plan();
    try {
        run.prepare();
        return run.train();
    } catch (const ResourceError& error) {
        throw ResourceError(continuation.after(error.what()), error.where());
    }
}

}  // namespace trireme
