#include "run/ghost_run.hpp"

#include <algorithm>
#include <iostream>

#include "run/ghost_records.hpp"
#include "run/last_records.hpp"
#include "run/manifest_of.hpp"
#include "trireme/adapt/deciding.hpp"
#include "trireme/adapt/straggler_check.hpp"
#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/valueless_group.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/rank_trainer.hpp"
#include "trireme/rank/tracing.hpp"
#include "trireme/records/console.hpp"
#include "trireme/records/figures.hpp"
#include "trireme/records/run_directory.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/peak_rate.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme {
namespace {

constexpr int most_in_detail = 64;  // ranks whose kernels are charged one by one, unless told otherwise

bool charges_passes(const RunConfig& config, int ranks) {
    if (config.costs.charging != Charging::automatic) return config.costs.charging == Charging::passes;
    return ranks > most_in_detail;
}

// Of many ranks gradients travel in fewer and larger messages: each costs the simulator the same.
BucketRules bucket_rules(int ranks) {
    BucketRules rules;
    constexpr std::size_t times = 16;
    if (ranks > most_in_detail) rules = {.large = rules.large * times, .largest = rules.largest * times};
    return rules;
}

// Whether rank r of a team takes as long in all replicas of its stages: on a device of the same name that was
// measured alike, beside the ranks of its team in the same way.
bool replicas_are_alike(const RunConfig& config, const Setup& setup, const std::vector<int>& nodes) {
    if (!config.emulation.slow.empty()) return false;
    for (const StageLayout& stage : setup.plan.layout.stages) {
        const ReplicaLayout& first = stage.replicas.front();
        for (const ReplicaLayout& replica : stage.replicas) {
            if (replica.shares != first.shares) return false;
            for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
                const auto name = [&](int rank) { return setup.devices->of(rank).name; };
                const auto is_beside_first = [&](const ReplicaLayout& each) {
                    return nodes[static_cast<std::size_t>(each.ranks[r])] ==
                           nodes[static_cast<std::size_t>(each.ranks.front())];
                };
                const auto measured = [&](int rank) { return setup.kernels.kind_of(rank); };
                if (name(replica.ranks[r]) != name(first.ranks[r])) return false;
                if (measured(replica.ranks[r]) != measured(first.ranks[r])) return false;
                if (is_beside_first(replica) != is_beside_first(first)) return false;
            }
        }
    }
    return true;
}

// What is the same for all ranks, of which rank 0 makes it and the others hold it.
struct GhostJob {
    GhostJob(const RunConfig& config, const Session& session)
        : setup(set_up(config, session.size())),
          gradients(gradient_plan(setup, bucket_rules(session.size()))),
          messages(session.blank_memory(std::size_t{1} << 30)) {
        share_pass_times(config, session);
    }

    // By the plan that there is.
    void share_pass_times(const RunConfig& config, const Session& session) {
        const bool are_shared =
            charges_passes(config, session.size()) && replicas_are_alike(config, setup, session.nodes());
        pass_times = are_shared ? std::make_shared<PassTimes>() : nullptr;
    }

    Setup setup;
    GradientPlan gradients;
    std::shared_ptr<const BlankMemory> messages;
    std::shared_ptr<PassTimes> pass_times;  // that replicas share; none: they are not alike
    std::unique_ptr<GhostRecords> records;  // made before the ranks begin
};

// On the way to another plan: what rank 0 makes of it.
struct GhostChange {
    Choice choice;
    bool is_of_layout = true;  // and not of products alone
    GradientPlan to_hold = {};
    StateMoves moves = {};
};

// Counts the memory of each rank. The buckets are those of a run with values.
std::vector<RankMemory> memory_of(const SizedPlan& sized, const RunConfig& config, int ranks) {
    return memory_of_ranks(sized, &config.optimizer, gradient_plan(sized), ranks);
}

RankMemory fullest_of(const std::vector<RankMemory>& memories) {
    return *std::ranges::max_element(memories, {}, &RankMemory::total);
}

// Throws ConfigError where a rank needs more than its device has.
void refuse_more_than_devices(const Setup& setup, const std::vector<RankMemory>& memories) {
    if (!setup.devices) return;
    for (std::size_t rank = 0; rank < memories.size(); ++rank)
        refuse_more_than_device(*setup.devices, static_cast<int>(rank), memories[rank].total());
}

// The ranks at this one's place in the teams of its pipe. Of many ranks, those whose norms an update waits for:
// their neighbours in team and replica are as late.
std::vector<int> column_of(const Plan& plan, const std::vector<int>& pipe, int rank) {
    const std::vector<int>& own = plan.teams[static_cast<std::size_t>(plan.team_of(rank))].ranks;
    const auto place = std::find(own.begin(), own.end(), rank) - own.begin();
    std::vector<int> column;
    for (const Team& team : plan.teams) {
        if (team.ranks.size() != own.size()) return pipe;
        const int other = team.ranks[static_cast<std::size_t>(place)];
        if (std::binary_search(pipe.begin(), pipe.end(), other)) column.push_back(other);
    }
    std::sort(column.begin(), column.end());
    return column;
}

class GhostRun {
public:
    GhostRun(const RunConfig& config, const Session& session, Communicator& control, Patience patience)
        : config_(config), session_(session), control_(control), patience_(patience) {}

    void run() {
        std::shared_ptr<GhostJob> made;
        agree(control_, [&] {
            if (is_first()) made = prepare();
        });
        job_ = shared_by_first(control_, made);
        hosts_ = gather_all(control_, session_.host());
        if (is_first()) introduce();
        if (config_.run.dry_run) return barrier(control_);
        take_steps();
        if (is_first()) finish();
    }

private:
    bool is_first() const { return session_.rank() == 0; }

    void take_steps() {
        Tracing tracing(config_.run.trace, control_);
        start_trainer(tracing.trace());
        if (needs_links(config_.policy)) {
            const RankLinks links = trainer_->measure_links(control_);
            if (is_first()) deciding_->know_links(links);
        }
        barrier(control_);
        for (std::size_t step = 0; step < job_->setup.steps;) step = take_stretch(step, tracing);
        barrier(control_);
        tracing.write(is_first() ? directory_->path() : "", session_.host());
    }

    void start_trainer(Trace* trace) {
        const int rank = session_.rank();
        Stream stream{.backend = GhostStream{}, .seconds_of = kernel_seconds_of(job_->setup, rank)};
        trainer_.emplace(config_, job_->setup, job_->gradients,
                         TrainingRank{.number = rank, .stream = std::move(stream), .trace = trace}, groups());
        if (charges_passes(config_, session_.size())) trainer_->charge_whole_passes(job_->pass_times);
        if (job_->pass_times && is_in_first_replica()) trainer_->rehearse();
    }

    // From one chance to change the plan to the next.
    std::size_t take_stretch(std::size_t first, Tracing& tracing) {
        const std::size_t end = next_look(config_.policy, first, job_->setup.steps);
        trainer_->begin_stretch(first, end);
        for (std::size_t step = first; step < end; ++step) {
            tracing.begin_step(step + 1, step - first);
            tracing.made_with(job_->setup.plan);
            const TraceSpan span(tracing.trace(), TraceLane::step, "step");
            for (const StepOutcome& outcome : trainer_->step()) job_->records->add(session_.rank(), outcome);
        }
        if (end < job_->setup.steps) change_plan(end, tracing.trace());
        return end;
    }

    // Collective. As in a run that has values, but for these.
    void change_plan(std::size_t step, Trace* trace) {
        barrier(control_);  // all have said how the last step went
        const double begin = now_seconds();
        const auto change = shared_by_first(control_, is_first() ? wanted_change(step) : nullptr);
        if (change) {
            const TraceSpan span(trace, TraceLane::compute, "change of plan");
            follow_change(*change, trace);
            if (is_first()) note(*change, now_seconds() - begin);
        }
        trainer_->share_products();
        if (!change && is_first()) sum_->add_look(now_seconds() - begin);
    }

    // Collective. Rank 0 changes the plan that all look at, when nobody does.
    void follow_change(GhostChange& change, Trace* trace) {
        if (change.is_of_layout) trainer_.reset();
        barrier(control_);
        if (is_first()) change_job(change);
        barrier(control_);
        if (!change.is_of_layout) return;
        start_trainer(trace);
        move_state(change.moves);
        barrier(control_);
    }

    // Of rank 0, as what follows. None: the plan stays.
    std::shared_ptr<GhostChange> wanted_change(std::size_t step) {
        auto choice = deciding_->choose(step);
        if (choice && !has_room_for(*choice)) choice.reset();
        note_no_change(step, deciding_->take_complaint(), *directory_, *console_);
        if (!choice) return nullptr;
        const Setup& setup = job_->setup;
        if (stays_in_place(setup.plan, choice->next.plan))
            return std::make_shared<GhostChange>(
                GhostChange{.choice = std::move(*choice), .is_of_layout = false});
        GradientPlan to_hold = gradient_plan(choice->next.sized(setup), bucket_rules(session_.size()));
        StateMoves moves =
            state_moves(setup.plan, job_->gradients, choice->next.plan, to_hold,
                        {.nodes = session_.nodes(), .most_elements = choice->next.elements_in_flight});
        return std::make_shared<GhostChange>(
            GhostChange{std::move(*choice), true, std::move(to_hold), std::move(moves)});
    }

    bool has_room_for(const Choice& choice) {
        try {
            refuse_more_than_devices(job_->setup,
                                     memory_of(choice.next.sized(job_->setup), config_, session_.size()));
        } catch (const ConfigError& error) {
            deciding_->refuse(error.what());
            return false;
        }
        return true;
    }

    void change_job(GhostChange& change) {
        change.choice.decision.from = hash_of(job_->setup.plan);
        if (!change.is_of_layout) {
            job_->setup.plan.left_out = change.choice.next.plan.left_out;
            job_->setup.plan.migrations = change.choice.next.plan.migrations;
            return;
        }
        follow(change.choice.next, job_->setup);
        job_->gradients = change.to_hold;
        job_->share_pass_times(config_, session_);
    }

    void note(GhostChange& change, double seconds) {
        const Setup& setup = job_->setup;
        const PlanChange made{
            .from = change.choice.decision.from,
            .to = hash_of(setup.plan),
            .moved_bytes = change.moves.bytes(&Move::elements_sent, config_.optimizer, setup.dtype),
            .kept_bytes = change.moves.bytes(&Move::elements_kept, config_.optimizer, setup.dtype),
            .seconds = seconds};
        Decision& decision = change.choice.decision;
        deciding_->note(decision, made);
        const RankMemory memory = fullest_of(memory_of(setup, config_, session_.size()));
        if (memory.total() > memory_.total()) memory_ = memory;
        sum_->add_change_of_plan(made, bubble_of_schedule(setup.plan, session_.size()));
        sum_->leave_out(left_out_shares(setup.plan.migrations, setup.plan.left_out));
        directory_->add_decision(decision);
        console_->change_of_plan(decision, made);
    }

    // Collective. Messages as long as parameters and moments are.
    void move_state(const StateMoves& moves) {
        if (!mover_) mover_ = without_values(session_.all_ranks("mover", patience_), job_->messages);
        const DType dtype = job_->setup.dtype;
        for (std::size_t kept = 0; kept < kept_of(config_.optimizer, dtype); ++kept)
            carry_out(moves.moments, {}, {}, wide_of(dtype), *mover_);
        carry_out(moves.values, {}, {}, dtype, *mover_);
    }

    bool is_in_first_replica() const {
        return std::ranges::any_of(job_->setup.plan.layout.stages, [&](const StageLayout& stage) {
            return std::ranges::find(stage.replicas.front().ranks, session_.rank()) !=
                   stage.replicas.front().ranks.end();
        });
    }

    // Of rank 0.
    std::shared_ptr<GhostJob> prepare() {
        auto job = std::make_shared<GhostJob>(config_, session_);
        check_traced_steps(config_.run.trace, job->setup.steps);
        check_straggler(config_, job->setup);
        job->setup.slow = slow_run_of(config_, job->setup, session_.size());
        const std::vector<RankMemory> memories = memory_of(job->setup, config_, session_.size());
        memory_ = fullest_of(memories);
        refuse_more_than_devices(job->setup, memories);
        if (config_.run.dry_run) return job;
        directory_ =
            std::make_unique<RunDirectory>(chosen_run_directory(config_.run.run_dir, job->setup.model.name));
        job->records =
            std::make_unique<GhostRecords>(session_.size(), [this](StepOutcome& outcome) { record(outcome); });
        deciding_.emplace(config_, job->setup, session_.nodes(), std::vector<Decision>{});
        return job;
    }

    void introduce() {
        const Setup& setup = job_->setup;
        manifest_ = manifest_of({config_, setup, session_, hosts_});
        manifest_.peak = peak_of_all(control_, config_, setup, 1, session_);
        flops_ = model_flops(setup.model);
        console_.emplace(std::cout, config_, setup);
        sum_.emplace(flops_, manifest_.peak.flops, session_.size(),
                     bubble_of_schedule(setup.plan, session_.size()));
        sum_->leave_out(left_out_shares(setup.plan.migrations, setup.plan.left_out));
        if (directory_) {
            directory_->write_config(config_.resolved);
            directory_->write_manifest(manifest_);
        }
        console_->introduce(manifest_, memory_, directory_ ? directory_->path().string() : "");
    }

    RankGroups groups() const {
        const Plan& plan = job_->setup.plan;
        RankGroups groups = make_groups(session_, plan, job_->gradients.buckets, {.patience = patience_});
        groups.record = single_rank("record");
        const bool is_idle = plan.team_of(session_.rank()) < 0;
        const bool are_many = session_.size() > most_in_detail;
        if (are_many && !plan.training.shape.updates_alone) {
            groups.update =
                is_idle ? single_rank("update")
                        : session_.group_of(column_of(plan, groups.pipe, session_.rank()), "update", patience_);
        }
        if (is_idle) return groups;
        for (auto* group : {&groups.activations, &groups.gradients, &groups.tensor}) {
            if (*group) *group = without_values(std::move(*group), job_->messages);
        }
        const auto without = are_many ? around_ring_without_values : without_values;
        for (auto& [ranks, group] : groups.data) group = without(std::move(group), job_->messages);
        return groups;
    }

    void record(StepOutcome& outcome) {
        sum_->add(outcome);
        const std::vector<SlownessChange> changes = deciding_->observe(outcome);
        directory_->add_step(outcome.step + 1, outcome, flops_, manifest_.peak.flops);
        console_->step(outcome.step, outcome, flops_, manifest_.peak.flops);
        for (const SlownessChange& change : changes) console_->slowness(outcome.step, change, manifest_);
    }

    void finish() {
        Figures figures = sum_->finish(std::nullopt);
        figures.slowed = words_of(config_.emulation.slow);
        figures.predicted_bytes = memory_.total();
        directory_->write_summary(figures);
        console_->finish(figures, manifest_.peak.is, directory_->path().string());
    }

    const RunConfig& config_;
    const Session& session_;
    Communicator& control_;
    Patience patience_;
    std::shared_ptr<GhostJob> job_;
    std::vector<std::string> hosts_;  // of each rank
    std::optional<RankTrainer> trainer_;
    std::unique_ptr<Communicator> mover_;  // none: nothing has moved yet

    // Of rank 0.
    std::unique_ptr<RunDirectory> directory_;
    RankMemory memory_;
    Manifest manifest_;
    ModelFlops flops_;
    std::optional<Console> console_;
    std::optional<FigureSum> sum_;
    std::optional<Deciding> deciding_;
};

}  // namespace

Ending run_ghosts(const RunConfig& config, const Session& session, Communicator& control, Patience patience) {
    GhostRun(config, session, control, patience).run();
    return Ending::done;
}

}  // namespace trireme
