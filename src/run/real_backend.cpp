#include <algorithm>
#include <array>

#include "run/backend.hpp"
#include "run/resume.hpp"
#include "run/saving.hpp"
#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/adapt/switching.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/archive/partial_folder.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/rank_gpu.hpp"
#include "trireme/rank/tracing.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/peak_rate.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::run {
namespace {

// The result of the collective set-up, from which each rank makes its backend.
struct RealStart {
    setup::Setup setup;
    adapt::RecordedChanges recorded;
    int threads = 1;
    rank::GpuRoad road = {};
    records::Manifest manifest = {};
};

// Returns the end of the segment that begins after `first` steps: the next evaluation or checkpoint, or the
// next chance to change the plan.
std::size_t longest_stretch(std::size_t first, std::size_t next_chance, const plan::Plan& plan,
                            const config::RunOptions& run) {
    constexpr std::size_t most_microbatches = 1 << 30;  // per segment, so that their numbers fit int
    const auto each = static_cast<std::size_t>(plan.microbatches());
    std::size_t end = std::min(next_chance, first + most_microbatches / each);
    for (const std::size_t period : {run.eval_every, run.checkpoint_every}) {
        if (period > 0) end = std::min(end, (first / period + 1) * period);
    }
    return end;
}

class RealBackend : public Backend {
public:
    RealBackend(RealStart start, const RankSurroundings& rank)
        : rank_(rank),
          goes_on_resizing_(start.setup.goes_on_resizing),
          max_bytes_(start.recorded.memory),
          parts_(std::move(start.setup), rank.session.nodes(), std::move(start.recorded.decisions),
                 std::move(start.manifest), is_first()),
          running_{.job = job_,
                   .current = parts_.current,
                   .session = rank.session,
                   .control = rank.control,
                   .mover = *mover_,
                   .watchdog = rank.watchdog,
                   .trainer = trainer_,
                   .threads = start.threads,
                   .road = start.road,
                   .stopping = &rank.stopping,
                   .nodes = rank.session.nodes(),
                   .twin = twin_.get()} {
        const setup::RankMemory own = memory_by_plan();
        max_bytes_.rank = std::max(max_bytes_.rank, own.total());
        memory_ = fullest(rank.control, own);
    }

    RunParts& parts() override { return parts_; }
    bool keeps_records() const override { return true; }

    void show_plan() override {
        parts_.recorder.introduce(parts_.current, parts_.deciding.origin(), memory_);
        refuse_lack_of_room();
    }

    void prepare(device::Trace* trace) override {
        refuse_lack_of_room();
        running_.trace = trace;
        const setup::PeakRate peak = peak_of_all(rank_.control, job_, running_.threads, rank_.session);
        allocated_bytes_ = setup::forget_peak(job_.place);
        start_trainer(running_);
        rank_.watchdog.ask([this] { return trainer_->position(); });
        rank::read_together(
            rank_.control,
            rank::stall_limit(parts_.current.plan, rank_.session.rank(), job_.config.run.stall_timeout), [&] {
                trainer_->fill({.stored = job_.stored ? &*job_.stored : nullptr,
                                .resumes = job_.resumes,
                                .goes_on_resizing = goes_on_resizing_});
            });
        agree(rank_.control, [&] { parts_.recorder.open_directory(); });
        prepare_saving();
        parts_.recorder.begin(parts_.current, parts_.deciding.origin(), memory_, peak);
    }

    rank::RankTrainer& trainer() override { return *trainer_; }

    // A schedule without work in flight between steps has segments of one step.
    std::size_t end_of_stretch(std::size_t first) const override {
        if (parts_.current.plan.training.ends_with_step()) return first + 1;
        return longest_stretch(first, parts_.deciding.next_chance(first), parts_.current.plan, job_.config.run);
    }

    void settle(records::StepOutcome outcome,
                const std::function<void(records::StepOutcome&)>& record) override {
        record(outcome);
    }

    void wait_for_records() override {}

    std::shared_ptr<adapt::Choice> choose(std::size_t step) override {
        std::shared_ptr<adapt::Choice> choice;
        agree(rank_.control, [&] {
            std::optional<adapt::Choice> own = parts_.deciding.choose(step);
            if (own) choice = std::make_shared<adapt::Choice>(std::move(*own));
        });
        refuse_unlike_plans(rank_.control, choice.get(), step);
        // The memory for recorded changes was checked before the first step.
        const bool is_checked = choice && (choice->is_recorded || !choice->transition.moves_state);
        if (!choice || !(is_checked || has_room_for(choice->transition))) return nullptr;
        return choice;
    }

    records::PlanChange change_plan(adapt::Choice& choice, std::size_t step) override {
        adapt::PlanTransition& transition = choice.transition;
        if (!transition.moves_state) {
            const records::PlanChange change{.from = hash_of(parts_.current.plan),
                                             .to = hash_of(transition.to.plan)};
            apply(transition, parts_.current);
            max_bytes_.rank = std::max(max_bytes_.rank, memory_by_plan().total());
            return change;
        }
        saving_->finish();  // the state that is being copied is about to move
        running_.save = [this, step] { return saving_->save_at_once(step, state_after(step)); };
        const records::PlanChange change = switch_to(transition, running_);
        saving_->change_parts(parts_of(parts_.current.gradients, rank_.session.size()));
        save_before_updates();
        return change;
    }

    std::optional<records::Evaluation> evaluate() override {
        if (job_.samples.validation.empty()) return std::nullopt;
        return trainer_->evaluate(rank_.control);
    }

    void save(std::size_t step, bool is_last) override {
        const device::TraceSpan span(running_.trace, device::TraceLane::compute, "beginning of a checkpoint");
        saving_->begin(step, state_after(step), is_last);
        if (!saving_->waits().empty() && saving_->waits().back().step == step)
            parts_.recorder.waited_to_save(saving_->waits().back());
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

    records::Figures figures(const std::optional<records::Evaluation>& validation) override {
        parts_.recorder.measured_peak_again(
            peak_again(parts_.recorder.peak(), rank_.control, job_, running_.threads, rank_.session));
        records::Figures figures = parts_.recorder.figures(validation);
        figures.grown_bytes = most_of_ranks(grown_bytes());
        figures.predicted_bytes = most_of_ranks(max_bytes_.rank);
        const std::string remark = records::remark_on_memory(*figures.grown_bytes, figures.predicted_bytes);
        // Simulated ranks share the memory of one process.
        if (!remark.empty() && !device::time_is_simulated()) figures.remarks.push_back(remark);
        figures.saves = saving_->saves();
        figures.save_seconds = saving_->stall_seconds();
        for (const records::SaveWait& wait : saving_->waits()) figures.save_wait_seconds += wait.seconds;
        return figures;
    }

    void finish() override { saving_->refuse_lost(); }

private:
    bool is_first() const { return rank_.session.rank() == 0; }

    setup::RankMemory memory_by_plan() const {
        const setup::PlanState& current = parts_.current;
        return setup::plan_memory({job_, current}, &job_.config.optimizer, current.gradients,
                                  rank_.session.rank(), job_.config.run.checkpoint_every > 0);
    }

    std::size_t grown_bytes() const { return setup::peak_allocated_bytes(job_.place) - allocated_bytes_; }

    std::size_t most_of_ranks(std::size_t bytes) {
        return static_cast<std::size_t>(
            std::ranges::max(gather_all(rank_.control, std::array{static_cast<double>(bytes)})));
    }

    // Collective. Describes the lack of device, host or node memory for these bytes; empty if they fit. This
    // rank already holds `held` bytes.
    std::string lack_of_room(const adapt::ChangeMemory& bytes, std::size_t held) {
        std::string lack = first_complaint(
            rank_.control, lack_of_device_memory(job_.devices, rank_.session.rank(), bytes.rank));
        if (lack.empty())
            lack = setup::lack_of_memory(bytes.rank - std::min(bytes.rank, held), job_.place, rank_.session,
                                         rank_.control);
        if (lack.empty())
            lack = first_complaint(rank_.control,
                                   twin_ ? setup::lack_of_node_memory(*twin_, bytes.node, rank_.session) : "");
        return lack;
    }

    void refuse_lack_of_room() {
        const std::string lack = lack_of_room(max_bytes_, 0);
        if (!lack.empty()) throw ConfigError(lack);
        setup::refuse_more_than_memory(memory_.copy_beside_gpu, device::MemorySpace::host, rank_.session,
                                       rank_.control);
        agree(rank_.control, [&] {
            if (is_first() && !job_.kept_steps) records::refuse_used(job_.config.run.run_dir);
        });
    }

    // Collective. True if the free memory suffices for a change that was not known when the run began.
    bool has_room_for(const adapt::PlanTransition& transition) {
        const int rank = rank_.session.rank();
        const adapt::ChangeMemory bytes{
            .rank = std::max(memory_by_plan().total(), transition.max_bytes(job_, rank)),
            .node = transition.node_bytes(job_, rank_.session.node())};
        const std::string lack = lack_of_room(bytes, grown_bytes());
        if (!lack.empty()) parts_.deciding.refuse(lack);
        if (lack.empty()) max_bytes_.rank = std::max(max_bytes_.rank, bytes.rank);
        return lack.empty();
    }

    // Collective. Rank 0 chooses the folder and the identifying digits of checkpoints, and removes partial
    // ones.
    void prepare_saving() {
        SavingPlan plan = plan_saving(job_, parts_.current, rank_.session.size());
        std::string folder;
        if (is_first()) {
            folder =
                std::filesystem::absolute(parts_.recorder.path() / checkpoint::checkpoints_folder).string();
            archive::remove_partial(folder);
        }
        plan.checkpoints = gather_all(rank_.control, folder).front();
        rank_.continuation.saved(plan.checkpoints.parent_path(), job_.kept_steps.value_or(0));
        plan.run = gather_all(rank_.control, archive::random_digits()).front();
        const device::Patience patience = rank_.watchdog.patience();
        saving_.emplace(std::move(plan), rank_.session.all_ranks("saving", patience),
                        [lookout = patience.lookout] {
                            if (lookout != nullptr) lookout->look(0);
                        });
        saving_->note_in(running_.trace);
        save_before_updates();
    }

    void save_before_updates() {
        trainer_->call_before_update([this] { saving_->before_update(); });
    }

    RunState state_after(std::size_t step) {
        return {.facts = run_facts(job_, parts_.current,
                                   {.observed = parts_.deciding.observed(step),
                                    .origin = parts_.deciding.origin(),
                                    .steps = parts_.recorder.steps_so_far()}),
                .views = trainer_->views(),
                .updates = trainer_->updates(),
                .resizing = trainer_->resizing_state()};
    }

    void record_saves() {
        for (const records::SaveOutcome& outcome : saving_->take_outcomes()) {
            rank_.stopping.saved_in(outcome.seconds);
            if (outcome.complaint.empty()) rank_.continuation.saved(parts_.recorder.path(), outcome.step);
            parts_.recorder.saved(outcome);
        }
    }

    RankSurroundings rank_;
    bool goes_on_resizing_;
    adapt::ChangeMemory max_bytes_;  // predicted peak of this rank and its node, over all plans and changes
    RunParts parts_;
    const setup::Job& job_ = parts_.job;
    setup::RankMemory memory_ = {};    // of the fullest rank
    std::size_t allocated_bytes_ = 0;  // allocated before the trainer was made
    std::optional<rank::RankTrainer> trainer_;
    std::unique_ptr<comm::Communicator> mover_ = rank_.session.all_ranks("mover", rank_.watchdog.patience());
    std::unique_ptr<comm::NodeMemory> twin_ =
        adapt::make_twin(job_.config.policy.move, rank_.session, rank_.watchdog.patience());
    adapt::RunningPlan running_;
    std::optional<Saving> saving_;
};

}  // namespace

std::unique_ptr<Backend> real_backend(const config::RunConfig& config, const RankSurroundings& rank,
                                      device::StopSignals* signals) {
    const comm::Session& session = rank.session;
    std::optional<setup::Setup> setup;
    adapt::RecordedChanges recorded;
    agree(rank.control, [&] {
        setup = set_up_from_checkpoint(config, session.size());
        rank::check_traced_steps(config.run.trace, setup->job.steps);
        setup->job.slow = slow_run_of(setup->job, session.size());
        adapt::check_straggler(config, setup->current.plan);
        recorded = adapt::take_up_plan(*setup, session.nodes(), session.rank());
    });
    require_same_setup(rank.control, *setup);
    setup->job.gpu = rank::gpu_of_run(setup->job, session, rank.control, signals);
    const int threads = setup::threads_per_rank(config, session, rank.control);
    const rank::GpuRoad road = rank::gpu_road(config, session, rank.control);
    records::Manifest manifest =
        make_manifest({setup->job, setup->current.plan, session, gather_all(rank.control, session.host()),
                       threads, setup::cores_of_ranks(rank.control), road.messages.sentence});
    return std::make_unique<RealBackend>(RealStart{.setup = std::move(*setup),
                                                   .recorded = std::move(recorded),
                                                   .threads = threads,
                                                   .road = road,
                                                   .manifest = std::move(manifest)},
                                         rank);
}

}  // namespace trireme::run
