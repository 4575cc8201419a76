#include <algorithm>

#include "run/backend.hpp"
#include "run/ghost_records.hpp"
#include "run/node_cache.hpp"
#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/adapt/straggler_rules.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/valueless_group.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/tracing.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/peak_rate.hpp"

namespace trireme::run {
namespace {

// True if, in every stage, all replicas take equally long. For this, --slow must slow no rank. Ranks with the
// same index in their replicas must have equal shares, devices of the same name and the same profile. Either
// all or none of these ranks must share a node with the first rank of their replica.
bool replicas_take_equal_times(const setup::Job& job, const layout::Layout& layout) {
    if (!job.config.emulation.slow.empty()) return false;
    for (const layout::StageLayout& stage : layout.stages) {
        const layout::ReplicaLayout& first = stage.replicas.front();
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            if (replica.shares != first.shares) return false;
            for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
                const auto find_device_name = [&](int rank) { return job.devices->find_device(rank).name; };
                const auto shares_node_with_first = [&](const layout::ReplicaLayout& compared) {
                    return job.nodes[static_cast<std::size_t>(compared.ranks[r])] ==
                           job.nodes[static_cast<std::size_t>(compared.ranks.front())];
                };
                const auto find_profile_index = [&](int rank) { return job.kernels.find_kind(rank); };
                if (find_device_name(replica.ranks[r]) != find_device_name(first.ranks[r])) return false;
                if (find_profile_index(replica.ranks[r]) != find_profile_index(first.ranks[r])) return false;
                if (shares_node_with_first(replica) != shares_node_with_first(first)) return false;
            }
        }
    }
    return true;
}

setup::RankMemory find_largest_memory(const std::vector<setup::RankMemory>& memories) {
    return *std::ranges::max_element(memories, {}, &setup::RankMemory::total);
}

// Returns the ranks of `pipe` (sorted, see find_pipes()) that have the same index in their team as `rank` has
// in its own team. If the teams of the plan differ in size, returns all ranks of `pipe`. In a simulation with
// many ranks, an update waits only for the gradient norms of the returned ranks, because every other rank takes
// as long as one of them.
std::vector<int> list_corresponding_ranks(const plan::Plan& plan, const std::vector<int>& pipe, int rank) {
    const std::vector<int>& own_team = plan.teams[static_cast<std::size_t>(plan.find_team(rank))].ranks;
    const auto team_index = std::find(own_team.begin(), own_team.end(), rank) - own_team.begin();
    std::vector<int> ranks;
    for (const layout::Team& team : plan.teams) {
        if (team.ranks.size() != own_team.size()) return pipe;
        const int candidate = team.ranks[static_cast<std::size_t>(team_index)];
        if (std::binary_search(pipe.begin(), pipe.end(), candidate)) ranks.push_back(candidate);
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

// Buffer size of messages without values; a longer message throws ConfigError.
constexpr std::size_t max_message_bytes = std::size_t{1} << 30;

// The objects that all ranks of a ghost run share. Only rank 0 makes them, chooses plans and changes the plan.
// All ranks add their steps to `records`.
struct GhostWorld {
    GhostWorld(setup::Setup setup, std::vector<plan::Decision> recorded, const comm::Session& session,
               records::Manifest manifest)
        : context(std::move(setup), std::move(recorded), std::move(manifest), /*writes=*/true),
          message_memory(session.make_blank_memory(max_message_bytes)),
          records(session.size()) {
        reset_pass_times();
        context.job.caches = make_ghost_caches(context.job);
        set_cache_depth();
    }

    // All ranks share the caches, so that a single rank calls this function, between two steps.
    void set_cache_depth() {
        for (const std::shared_ptr<cache::SampleCache>& cache : context.job.caches)
            cache->set_depth(context.current.plan.frozen);
    }

    // Forgets the pass times of the previous plan. Under the current plan, ranks share pass times if they
    // charge whole passes to the simulated time and all replicas of a stage take equally long.
    void reset_pass_times() {
        const bool shares_pass_times = setup::charges_passes(context.job.config, context.job.ranks()) &&
                                       replicas_take_equal_times(context.job, context.current.plan.layout);
        pass_times = shares_pass_times ? std::make_shared<stage::PassTimes>() : nullptr;
    }

    RunContext context;
    std::shared_ptr<const comm::BlankMemory> message_memory;  // buffer of all messages
    std::shared_ptr<stage::PassTimes> pass_times;             // null if ranks share no times
    GhostRecords records;
    setup::RankMemory max_memory = {};  // largest prediction over all ranks and all plans so far
};

class GhostBackend : public Backend {
public:
    GhostBackend(std::shared_ptr<GhostWorld> world, const comm::Session& session, comm::Communicator& control,
                 device::WaitPolicy wait_policy)
        : world_(std::move(world)), session_(session), control_(control), wait_policy_(wait_policy) {}

    RunContext& context() override { return world_->context; }
    bool keeps_records() const override { return session_.rank() == 0; }

    void show_plan() override {
        if (keeps_records())
            context().recorder.print_head(current(), context().plan_chooser.origin(), world_->max_memory);
        barrier(control_);
    }

    void prepare(device::Trace* trace) override {
        trace_ = trace;
        if (keeps_records())
            context().recorder.record_begin(current(), context().plan_chooser.origin(), world_->max_memory,
                                            find_peak_rate(control_, job(), 1, session_));
        start_trainer();
        trainer_->prepare_offload();
        if (!job().memory_limits.empty()) barrier(control_);  // ranks offload different amounts of state
    }

    rank::RankTrainer& trainer() override { return *trainer_; }

    // A rank that predicts steps may wait in simulated time, so that other ranks run. Therefore only rank 0
    // looks ahead.
    Segment plan_segment(std::size_t first) override {
        if (!context().plan_chooser.looks_ahead()) return find_segment(first);
        return *share_from_rank_zero(
            control_, keeps_records() ? std::make_shared<Segment>(find_segment(first)) : nullptr);
    }

    void settle(records::StepOutcome outcome,
                const std::function<void(records::StepOutcome&)>& record) override {
        world_->records.add(session_.rank(), outcome, record);
    }

    void add_last_energy(records::StepOutcome& outcome) override {
        barrier(control_);
        if (!outcome.energy_of_ranks.empty())
            outcome.energy_of_ranks.front().blocked += trainer_->take_last_joules();
    }

    void wait_for_records() override { barrier(control_); }

    std::shared_ptr<adapt::Choice> choose(std::size_t step) override {
        plan_change_begin_ = device::now_seconds();
        return share_from_rank_zero(control_, keeps_records() ? choose_on_rank_zero(step) : nullptr);
    }

    records::PlanChange change_plan(adapt::Choice& choice, std::size_t) override {
        adapt::PlanTransition& transition = choice.transition;
        records::PlanChange change{.from = compute_hash(current().plan),
                                   .to = compute_hash(transition.to.plan),
                                   .moved_bytes = transition.count_moved_bytes(job()),
                                   .kept_bytes = transition.count_kept_bytes(job())};
        trainer_->restore_clock();  // the new plan may set no clocks
        if (transition.moves_state) {
            trainer_->take_state();  // takes the time of the copies of state that may be offloaded
            trainer_.reset();
        }
        barrier(control_);  // no rank may read the plan while rank 0 changes it
        if (keeps_records()) change_shared_plan(transition);
        barrier(control_);
        if (transition.moves_state) {
            start_trainer();
            move_state(transition.moves);
            trainer_->prepare_offload();
            barrier(control_);
        }
        change.seconds = device::now_seconds() - plan_change_begin_;
        return change;
    }

    std::optional<records::Evaluation> evaluate() override { return std::nullopt; }
    void save(std::size_t, bool) override {}
    void advance_saving() override {}
    void finish_saving() override {}

    records::Figures compute_figures(const std::optional<records::Evaluation>& validation) override {
        barrier(control_);  // until all ranks have recorded their steps
        if (!keeps_records()) return {};
        records::Figures figures = context().recorder.compute_figures(validation);
        figures.predicted_bytes = world_->max_memory.total();
        return figures;
    }

    void finish() override {}

private:
    const setup::Job& job() const { return world_->context.job; }
    setup::PlanState& current() { return world_->context.current; }

    void start_trainer() {
        const int rank = session_.rank();
        device::Stream stream{.backend = device::GhostStream{},
                              .predict_seconds = make_kernel_seconds(job(), rank),
                              .expect_seconds = make_relative_kernel_seconds(job(), 0)};
        trainer_.emplace(job(), current(),
                         rank::TrainingRank{.rank = rank, .stream = std::move(stream), .trace = trace_},
                         make_ghost_groups());
        if (setup::charges_passes(job().config, session_.size()))
            trainer_->charge_passes_as_whole(world_->pass_times);
        // The first replica of each stage measures the shared times for all replicas.
        if (world_->pass_times && is_in_first_replica()) trainer_->measure_team_passes();
    }

    Segment find_segment(std::size_t first) {
        adapt::PlanChooser& plan_chooser = context().plan_chooser;
        const std::size_t end = plan_chooser.find_next_possible_change(first);
        for (std::size_t step = first + 1; step < end; ++step)
            if (const std::uint64_t next_plan = plan_chooser.look_ahead(step)) return {step, next_plan};
        // The plan may change after the segment, so that no rank plans the next step yet.
        return {.end = end, .next_plan = end < current().samples.count_steps() ? 1U : 0U};
    }

    // Returns null if the plan stays, or if a device has too little memory for the change.
    std::shared_ptr<adapt::Choice> choose_on_rank_zero(std::size_t step) {
        adapt::PlanChooser& plan_chooser = context().plan_chooser;
        std::shared_ptr<adapt::Choice> choice = share(plan_chooser.choose(step));
        if (!choice) return nullptr;
        const std::string lack =
            explain_lack_on_devices(job(), predict_plan_memory(job(), choice->transition.to, session_.size()));
        return lack.empty() ? choice : share(plan_chooser.reject(*choice, lack));
    }

    void change_shared_plan(adapt::PlanTransition& transition) {
        current() = std::move(transition.to);
        world_->set_cache_depth();
        if (transition.moves_state) world_->reset_pass_times();
        const setup::RankMemory memory =
            find_largest_memory(predict_plan_memory(job(), current(), session_.size()));
        if (memory.total() > world_->max_memory.total()) world_->max_memory = memory;
    }

    // Collective. Sends messages that are as long as the moved parameters and optimizer state, but have no
    // values.
    void move_state(const rank::StateMoves& moves) {
        if (!mover_)
            mover_ = make_valueless_group(session_.make_group_of_all_ranks("mover", wait_policy_),
                                          world_->message_memory);
        const device::DType dtype = job().dtype;
        for (std::size_t state_kind = 0; state_kind < count_state_values(job().config.optimizer, dtype);
             ++state_kind)
            execute_move(moves.moments, {}, {}, accumulator_type(dtype), *mover_);
        execute_move(moves.values, {}, {}, dtype, *mover_);
    }

    // True if this rank is in the first replica of a stage.
    bool is_in_first_replica() {
        return std::ranges::any_of(current().plan.layout.stages, [&](const layout::StageLayout& stage) {
            const std::vector<int>& ranks = stage.replicas.front().ranks;
            return std::ranges::find(ranks, session_.rank()) != ranks.end();
        });
    }

    rank::RankGroups make_ghost_groups() {
        const plan::Plan& plan = current().plan;
        rank::RankGroups groups =
            rank::make_groups(session_, plan, current().gradients.buckets, {.wait_policy = wait_policy_});
        groups.record = comm::make_single_rank_group("record");  // GhostRecords collects the records
        const bool is_idle = plan.find_team(session_.rank()) < 0;
        const bool has_many_ranks = session_.size() > setup::max_ranks_charging_kernels;
        if (has_many_ranks && !plan.training.shape.updates_stages_independently) {
            groups.update =
                is_idle ? comm::make_single_rank_group("update")
                        : session_.make_group(list_corresponding_ranks(plan, groups.pipe, session_.rank()),
                                              "update", wait_policy_);
        }
        if (is_idle) return groups;
        for (auto* group : {&groups.activations, &groups.gradients, &groups.tensor}) {
            if (*group) *group = make_valueless_group(std::move(*group), world_->message_memory);
        }
        const auto remove_values =
            has_many_ranks ? comm::make_valueless_ring_group : comm::make_valueless_group;
        for (auto& [ranks, group] : groups.data)
            group = remove_values(std::move(group), world_->message_memory);
        return groups;
    }

    std::shared_ptr<GhostWorld> world_;
    const comm::Session& session_;
    comm::Communicator& control_;
    device::WaitPolicy wait_policy_;
    device::Trace* trace_ = nullptr;
    double plan_change_begin_ = 0;  // time of the last call of choose()
    std::optional<rank::RankTrainer> trainer_;
    std::unique_ptr<comm::Communicator> mover_;  // group for moves of state; null until the first move
};

std::shared_ptr<GhostWorld> make_world(const config::RunConfig& config, const comm::Session& session) {
    setup::Setup setup = setup::set_up(config, session.size());
    setup.job.nodes = session.nodes();
    rank::check_traced_steps(config.run.trace, setup.job.steps);
    adapt::check_straggler(config, setup.current.plan);
    setup.job.slow_run = make_slow_run(setup.job, session.size());
    adapt::RecordedChanges recorded = adapt::choose_first_plan(setup, session.rank());
    const std::vector<setup::RankMemory> memories =
        predict_plan_memory(setup.job, setup.current, session.size());
    const std::string lack = explain_lack_on_devices(setup.job, memories);
    if (!lack.empty()) throw ConfigError(lack);
    records::Manifest manifest = make_manifest({setup.job, setup.current.plan, session});
    auto world = std::make_shared<GhostWorld>(std::move(setup), std::move(recorded.decisions), session,
                                              std::move(manifest));
    world->max_memory = find_largest_memory(memories);
    if (!config.run.dry_run) world->context.recorder.open_directory();
    return world;
}

}  // namespace

std::unique_ptr<Backend> make_ghost_backend(const config::RunConfig& config, const comm::Session& session,
                                            comm::Communicator& control, device::WaitPolicy wait_policy) {
    std::shared_ptr<GhostWorld> world;
    run_or_fail_together(control, [&] {
        if (session.rank() == 0) world = make_world(config, session);
    });
    world = share_from_rank_zero(control, world);
    std::vector<std::string> hosts = all_gather(control, session.host());
    if (session.rank() == 0) world->context.recorder.set_hosts(std::move(hosts));
    return std::make_unique<GhostBackend>(std::move(world), session, control, wait_policy);
}

}  // namespace trireme::run
