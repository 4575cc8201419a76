#include <algorithm>
#include <array>
#include <cmath>

#include "run/backend.hpp"
#include "run/node_cache.hpp"
#include "run/resume.hpp"
#include "run/saving.hpp"
#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/adapt/straggler_rules.hpp"
#include "trireme/adapt/switching.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/archive/partial_folder.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/rank_gpu.hpp"
#include "trireme/rank/tracing.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/peak_rate.hpp"

namespace trireme::run {
namespace {

// The results of the collective setup, from which each rank makes its backend.
struct RealSetup {
    setup::Setup setup;
    adapt::RecordedChanges recorded;
    int threads = 1;
    rank::GpuTransport transport = {};
    records::Manifest manifest = {};
};

// Returns the end of the segment that begins with step `first`: its last step + 1. A segment ends at the next
// evaluation, checkpoint or possible change of plan.
std::size_t compute_segment_end(std::size_t first, std::size_t next_possible_change, const plan::Plan& plan,
                                const config::RunOptions& run) {
    constexpr std::size_t max_microbatches = 1 << 30;  // of a segment, so that an int can number them
    const auto microbatches_per_step = static_cast<std::size_t>(plan.microbatches());
    std::size_t end = std::min(next_possible_change, first + max_microbatches / microbatches_per_step);
    for (const std::size_t period : {run.eval_every, run.checkpoint_every}) {
        if (period > 0) end = std::min(end, (first / period + 1) * period);
    }
    return end;
}

class RealBackend : public Backend {
public:
    RealBackend(RealSetup real_setup, const RankResources& resources)
        : resources_(resources),
          resumes_resizing_(real_setup.setup.resumes_resizing),
          max_bytes_(real_setup.recorded.memory),
          context_(std::move(real_setup.setup), std::move(real_setup.recorded.decisions),
                   std::move(real_setup.manifest), is_rank_zero()),
          running_plan_{.job = job_,
                        .current = context_.current,
                        .session = resources.session,
                        .control = resources.control,
                        .mover = *mover_,
                        .watchdog = resources.watchdog,
                        .trainer = trainer_,
                        .threads = real_setup.threads,
                        .transport = real_setup.transport,
                        .stopping = &resources.stopping,
                        .staging_memory = staging_memory_.get()} {
        const setup::RankMemory own_memory = predict_own_memory();
        max_bytes_.rank = std::max(max_bytes_.rank, own_memory.total());
        max_memory_ = find_largest_rank_memory(resources.control, own_memory);
    }

    RunContext& context() override { return context_; }
    bool keeps_records() const override { return true; }

    void show_plan() override {
        context_.recorder.print_head(context_.current, context_.plan_chooser.origin(), max_memory_);
        check_memory_and_run_directory();
    }

    void prepare(device::Trace* trace) override {
        check_memory_and_run_directory();
        context_.job.caches = make_caches(job_, max_memory_, max_bytes_.node, resources_.session,
                                          resources_.watchdog.wait_policy());
        running_plan_.trace = trace;
        const setup::PeakRate peak =
            find_peak_rate(resources_.control, job_, running_plan_.threads, resources_.session);
        initial_peak_bytes_ = setup::reset_peak(job_.memory_space);
        start_trainer(running_plan_);
        resources_.watchdog.set_position_callback([this] { return trainer_->describe_position(); });
        rank::read_with_unlimited_wait(
            resources_.control,
            rank::choose_stall_limit(context_.current.plan, resources_.session.rank(),
                                     job_.config.run.stall_timeout),
            [&] {
                trainer_->fill({.stored = job_.stored_model ? &*job_.stored_model : nullptr,
                                .resumes = job_.resumes,
                                .resumes_resizing = resumes_resizing_});
            });
        run_or_fail_together(resources_.control, [&] { context_.recorder.open_directory(); });
        prepare_saving();
        context_.recorder.record_begin(context_.current, context_.plan_chooser.origin(), max_memory_, peak);
    }

    rank::RankTrainer& trainer() override { return *trainer_; }

    // With a schedule that keeps no micro-batch in flight between steps, a segment has one step.
    Segment plan_segment(std::size_t first) override {
        if (context_.current.plan.training.are_steps_independent())
            return {.end = first + 1, .next_plan = context_.plan_chooser.look_ahead(first + 1)};
        return {.end = compute_segment_end(first, context_.plan_chooser.find_next_possible_change(first),
                                           context_.current.plan, job_.config.run)};
    }

    void settle(records::StepOutcome outcome,
                const std::function<void(records::StepOutcome&)>& record) override {
        record(outcome);
    }

    void add_last_energy(records::StepOutcome& outcome) override {
        if (outcome.energy_of_ranks.empty()) return;
        barrier(resources_.control);
        const std::vector<double> joules =
            all_gather(resources_.control, std::array{trainer_->take_last_joules()});
        for (std::size_t rank = 0; rank < joules.size(); ++rank)
            if (std::isfinite(joules[rank])) outcome.energy_of_ranks[rank].blocked += joules[rank];
    }

    void wait_for_records() override {}  // settle() has already recorded all steps of this rank

    std::shared_ptr<adapt::Choice> choose(std::size_t step) override {
        std::shared_ptr<adapt::Choice> choice;
        run_or_fail_together(resources_.control, [&] { choice = share(context_.plan_chooser.choose(step)); });
        const bool looks_ahead = context_.plan_chooser.looks_ahead();
        if (looks_ahead && step == job_.completed_steps)
            check_equal_first_steps(choice.get());
        else if (!looks_ahead || may_freeze(job_.config.policy))
            check_equal_plans(resources_.control, choice.get(), step);
        // Only a change that moves state needs memory. For the changes of --decisions, the memory was checked
        // before the first step. Blocks freeze at their step, even if their rank has little memory left.
        const bool needs_no_check =
            choice && (choice->is_recorded || !choice->transition.moves_state || choice->changes_only_depth);
        const std::string lack = !choice || needs_no_check ? "" : describe_lack_of_memory_for(*choice);
        return lack.empty() ? choice : share(context_.plan_chooser.reject(*choice, lack));
    }

    records::PlanChange change_plan(adapt::Choice& choice, std::size_t step) override {
        adapt::PlanTransition& transition = choice.transition;
        if (!transition.moves_state) {
            const records::PlanChange change{.from = compute_hash(context_.current.plan),
                                             .to = compute_hash(transition.to.plan)};
            trainer_->restore_clock();  // the new plan may set no clocks
            context_.current = std::move(transition.to);
            max_bytes_.rank = std::max(max_bytes_.rank, predict_own_memory().total());
            return change;
        }
        saving_->finish();  // a checkpoint may be copying the state that is about to move
        running_plan_.save = [this, step] { return saving_->save_at_once(step, make_run_state(step)); };
        running_plan_.complete_trainer = [this] { complete_trainer(); };
        const records::PlanChange change = carry_out_transition(transition, running_plan_);
        saving_->change_state(plan_saving(job_, context_.current, resources_.session.size()).state);
        return change;
    }

    std::optional<records::Evaluation> evaluate() override {
        if (job_.samples.validation.empty()) return std::nullopt;
        return trainer_->evaluate(resources_.control);
    }

    void save(std::size_t step, bool is_last) override {
        const device::TraceSpan span(running_plan_.trace, device::TraceLane::compute,
                                     "beginning of a checkpoint");
        saving_->begin(step, make_run_state(step), is_last);
        if (!saving_->waits().empty() && saving_->waits().back().step == step)
            context_.recorder.record_save_wait(saving_->waits().back());
        advance_saving();
    }

    void advance_saving() override {
        saving_->advance();
        record_saves();
    }

    void finish_saving() override {
        saving_->finish();
        record_saves();
    }

    records::Figures compute_figures(const std::optional<records::Evaluation>& validation) override {
        context_.recorder.add_peak_measurement(repeat_peak_measurement(
            context_.recorder.peak(), resources_.control, job_, running_plan_.threads, resources_.session));
        records::Figures figures = context_.recorder.compute_figures(validation);
        figures.growth_bytes = find_max_over_ranks(compute_growth_bytes());
        figures.predicted_bytes = find_max_over_ranks(max_bytes_.rank);
        const std::string remark = records::make_memory_remark(*figures.growth_bytes, figures.predicted_bytes);
        // Simulated ranks share one process, so its memory growth is not the growth of one rank.
        if (!remark.empty() && !device::time_is_simulated()) figures.remarks.push_back(remark);
        figures.saves = saving_->saves();
        figures.save_seconds = saving_->stall_seconds();
        for (const records::SaveWait& wait : saving_->waits()) figures.save_wait_seconds += wait.seconds;
        return figures;
    }

    void finish() override { saving_->check_saved(); }

private:
    // Collective. Throws ConfigError if the ranks begin with different plans or micro-batches. Later plans and
    // micro-batches are compared by the records of steps.
    void check_equal_first_steps(const adapt::Choice* choice) {
        check_equal_plans(resources_.control, choice, job_.completed_steps);
        std::string hash;
        run_or_fail_together(resources_.control, [&] {
            setup::StepPlanner planner(job_, choice ? choice->transition.to : context_.current);
            hash = cat(planner.find_hash(job_.completed_steps));
        });
        require_same(resources_.control, {{"the micro-batches of the first step (hash)", hash}});
    }

    bool is_rank_zero() const { return resources_.session.rank() == 0; }

    // Returns the predicted memory of this rank under the current plan.
    setup::RankMemory predict_own_memory() const {
        const setup::PlanState& current = context_.current;
        return setup::predict_rank_memory({job_, current}, &job_.config.optimizer, current.gradients,
                                          resources_.session.rank(), job_.config.run.checkpoint_every > 0);
    }

    // Returns by how much this process's peak memory has grown since just before the first trainer was made.
    std::size_t compute_growth_bytes() const {
        return setup::read_peak_allocated_bytes(job_.memory_space) - initial_peak_bytes_;
    }

    // Collective.
    std::size_t find_max_over_ranks(std::size_t bytes) {
        return static_cast<std::size_t>(
            std::ranges::max(all_gather(resources_.control, std::array{static_cast<double>(bytes)})));
    }

    // Collective. Returns why device, host or node memory does not suffice for `needed`; empty if memory
    // suffices. The result is equal on all ranks. This rank has already allocated `held_bytes` of
    // `needed.rank`.
    std::string describe_lack_of_memory(const adapt::ChangeMemory& needed, std::size_t held_bytes) {
        std::string lack = find_first_complaint(
            resources_.control,
            explain_lack_of_device_memory(job_.devices, resources_.session.rank(), needed.rank));
        if (lack.empty())
            lack = setup::explain_lack_of_memory(needed.rank - std::min(needed.rank, held_bytes),
                                                 job_.memory_space, resources_.session, resources_.control);
        if (lack.empty())
            lack = find_first_complaint(resources_.control,
                                        staging_memory_ ? setup::explain_lack_of_node_memory(
                                                              *staging_memory_, needed.node, resources_.session)
                                                        : "");
        return lack;
    }

    // Collective. Throws ConfigError if memory does not suffice, or if the run directory holds the steps of an
    // earlier run that this run does not resume.
    void check_memory_and_run_directory() {
        const std::string lack = describe_lack_of_memory(max_bytes_, 0);
        if (!lack.empty()) throw ConfigError(lack);
        setup::require_memory(max_memory_.copy_beside_gpu, device::MemorySpace::host, resources_.session,
                              resources_.control);
        run_or_fail_together(resources_.control, [&] {
            if (is_rank_zero() && !job_.kept_steps) records::check_unused(job_.config.run.run_dir);
        });
    }

    // Collective. Returns why the free memory does not suffice for a change that was not known when the run
    // began; empty if it suffices.
    std::string describe_lack_of_memory_for(const adapt::Choice& choice) {
        const adapt::PlanTransition& transition = choice.transition;
        const int rank = resources_.session.rank();
        const adapt::ChangeMemory needed{
            .rank = std::max(predict_own_memory().total(), transition.predict_max_bytes(job_, rank)),
            .node = transition.predict_node_bytes(job_, resources_.session.node())};
        const std::string lack = describe_lack_of_memory(needed, compute_growth_bytes());
        if (lack.empty()) max_bytes_.rank = std::max(max_bytes_.rank, needed.rank);
        return lack;
    }

    // Collective. Makes `saving_`. Rank 0 chooses the folder of the checkpoints and the run id, and removes
    // incomplete checkpoints of earlier starts.
    void prepare_saving() {
        SavingConfig plan = plan_saving(job_, context_.current, resources_.session.size());
        std::string folder;
        if (is_rank_zero()) {
            folder =
                std::filesystem::absolute(context_.recorder.path() / checkpoint::checkpoints_folder).string();
            archive::remove_partial_entries(folder);
        }
        plan.checkpoints = all_gather(resources_.control, folder).front();
        run_directory_ = plan.checkpoints.parent_path();
        resources_.continuation.set_checkpoint(run_directory_, job_.kept_steps.value_or(0));
        plan.run_id = all_gather(resources_.control, archive::make_random_digits()).front();
        const device::WaitPolicy wait_policy = resources_.watchdog.wait_policy();
        saving_.emplace(std::move(plan), resources_.session.make_group_of_all_ranks("saving", wait_policy),
                        [observer = wait_policy.observer] {
                            if (observer != nullptr) observer->on_poll(0);
                        });
        saving_->set_trace(running_plan_.trace);
        complete_trainer();
    }

    // Collective. Called for each new trainer.
    void complete_trainer() {
        trainer_->set_before_update_callback([this] { saving_->wait_for_copy(); });
        run_or_fail_together(resources_.control, [&] { trainer_->prepare_offload(run_directory_); });
    }

    RunState make_run_state(std::size_t step) {
        return {.facts = make_run_facts(job_, context_.current,
                                        {.observed = context_.plan_chooser.make_observation(step),
                                         .origin = context_.plan_chooser.origin(),
                                         .steps = context_.recorder.steps_so_far(),
                                         .freezing = context_.plan_chooser.describe_freezing()}),
                .views = trainer_->list_state_views(),
                .updates = trainer_->update_counts(),
                .resizing = trainer_->resizing_state()};
    }

    void record_saves() {
        for (const records::SaveOutcome& outcome : saving_->take_outcomes()) {
            resources_.stopping.note_save_seconds(outcome.seconds);
            if (outcome.complaint.empty())
                resources_.continuation.set_checkpoint(context_.recorder.path(), outcome.step);
            context_.recorder.record_save(outcome);
        }
    }

    RankResources resources_;
    bool resumes_resizing_;
    adapt::ChangeMemory max_bytes_;  // predicted peak of this rank and its node, over all known plans
    RunContext context_;
    const setup::Job& job_ = context_.job;
    setup::RankMemory max_memory_ = {};    // predicted for the rank that needs most under the first plan
    std::size_t initial_peak_bytes_ = 0;   // peak memory just before the first trainer was made
    std::filesystem::path run_directory_;  // set by prepare_saving()
    std::optional<rank::RankTrainer> trainer_;
    std::unique_ptr<comm::Communicator> mover_ =
        resources_.session.make_group_of_all_ranks("mover", resources_.watchdog.wait_policy());
    std::unique_ptr<comm::NodeMemory> staging_memory_ = adapt::make_staging_memory(
        job_.config.policy.move, resources_.session, resources_.watchdog.wait_policy());
    adapt::RunningPlan running_plan_;
    std::optional<Saving> saving_;
};

}  // namespace

namespace {

// Names for messages what sets clocks during the steps of the run. Returns an empty text if nothing does.
std::string describe_clock_setter(const setup::Setup& setup, const adapt::RecordedChanges& recorded) {
    const plan::Plan& plan = setup.current.plan;
    if (setup.job.config.policy.energy != config::Energy::baseline) return "--energy";
    if (sets_clocks(plan.training.phases())) {
        const std::optional<plan::Decision>& decision = setup.origin.decision;
        const bool is_decided = decision && !decision->clocks.empty();
        return is_decided ? cat("the decision after step ", decision->step) : plan.schedule;
    }
    return recorded.sets_clocks ? cat("--decisions ", setup.job.config.policy.decisions) : "";
}

}  // namespace

std::unique_ptr<Backend> make_real_backend(const config::RunConfig& config, const RankResources& resources,
                                           device::StopSignals* signals) {
    const comm::Session& session = resources.session;
    std::optional<setup::Setup> setup;
    adapt::RecordedChanges recorded;
    run_or_fail_together(resources.control, [&] {
        setup = set_up_from_checkpoint(config, session.size());
        setup->job.nodes = session.nodes();
        rank::check_traced_steps(config.run.trace, setup->job.steps);
        setup->job.slow_run = make_slow_run(setup->job, session.size());
    });
    setup->job.gpu = rank::make_rank_gpu(setup->job, session, resources.control);
    setup->job.gpu_clocks = rank::gather_gpu_clocks(setup->job, resources.control);
    run_or_fail_together(resources.control, [&] {
        adapt::check_straggler(config, setup->current.plan);
        recorded = adapt::choose_first_plan(*setup, session.rank());
    });
    require_same_setup(resources.control, *setup);
    rank::prepare_gpu_clocks(setup->job, describe_clock_setter(*setup, recorded), session, resources.control,
                             signals);
    if (setup->job.gpu && !config.run.dry_run) setup->job.gpu->measure_waiting_watts(resources.control);
    const int threads = setup::choose_threads(config, session, resources.control);
    const rank::GpuTransport transport = rank::choose_gpu_transport(config, session, resources.control);
    records::Manifest manifest =
        make_manifest({setup->job, setup->current.plan, session, all_gather(resources.control, session.host()),
                       threads, setup::list_cores_per_rank(resources.control), transport.choice.description});
    return std::make_unique<RealBackend>(RealSetup{.setup = std::move(*setup),
                                                   .recorded = std::move(recorded),
                                                   .threads = threads,
                                                   .transport = transport,
                                                   .manifest = std::move(manifest)},
                                         resources);
}

}  // namespace trireme::run
