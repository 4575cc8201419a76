#include <algorithm>

#include "run/backend.hpp"
#include "run/ghost_records.hpp"
#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/valueless_group.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/tracing.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/peak_rate.hpp"
#include "trireme/setup/plan_memory.hpp"

namespace trireme::run {
namespace {

// True if rank r of a team takes equally long in all replicas of its stages: they have equal shares, and its
// devices have the same name, the same measured kernel times, and the same placement on nodes relative to the
// team.
bool replicas_are_alike(const setup::Job& job, const layout::Layout& layout, const std::vector<int>& nodes) {
    if (!job.config.emulation.slow.empty()) return false;
    for (const layout::StageLayout& stage : layout.stages) {
        const layout::ReplicaLayout& first = stage.replicas.front();
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            if (replica.shares != first.shares) return false;
            for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
                const auto name = [&](int rank) { return job.devices->of(rank).name; };
                const auto is_beside_first = [&](const layout::ReplicaLayout& each) {
                    return nodes[static_cast<std::size_t>(each.ranks[r])] ==
                           nodes[static_cast<std::size_t>(each.ranks.front())];
                };
                const auto measured = [&](int rank) { return job.kernels.kind_of(rank); };
                if (name(replica.ranks[r]) != name(first.ranks[r])) return false;
                if (measured(replica.ranks[r]) != measured(first.ranks[r])) return false;
                if (is_beside_first(replica) != is_beside_first(first)) return false;
            }
        }
    }
    return true;
}

// Returns the memory per rank. Gradients are grouped as in a run that computes.
std::vector<setup::RankMemory> memory_of_plan(const setup::Job& job, const setup::PlanState& state, int ranks) {
    const setup::SizedPlan sized(job, state);
    return memory_of_ranks(sized, &job.config.optimizer, gradient_plan(sized), ranks);
}

setup::RankMemory fullest_of(const std::vector<setup::RankMemory>& memories) {
    return *std::ranges::max_element(memories, {}, &setup::RankMemory::total);
}

// Describes the lack of memory on the first rank whose device is too small; empty if all devices suffice.
std::string lack_on_devices(const setup::Job& job, const std::vector<setup::RankMemory>& memories) {
    std::string lack;
    for (std::size_t rank = 0; lack.empty() && rank < memories.size(); ++rank)
        lack = lack_of_device_memory(job.devices, static_cast<int>(rank), memories[rank].total());
    return lack;
}

// Returns the ranks at this rank's position in the teams of its pipe. With many ranks an update waits only for
// the norms of these ranks, because the other ranks of their teams and replicas take equally long.
std::vector<int> column_of(const plan::Plan& plan, const std::vector<int>& pipe, int rank) {
    const std::vector<int>& own = plan.teams[static_cast<std::size_t>(plan.team_of(rank))].ranks;
    const auto place = std::find(own.begin(), own.end(), rank) - own.begin();
    std::vector<int> column;
    for (const layout::Team& team : plan.teams) {
        if (team.ranks.size() != own.size()) return pipe;
        const int other = team.ranks[static_cast<std::size_t>(place)];
        if (std::binary_search(pipe.begin(), pipe.end(), other)) column.push_back(other);
    }
    std::sort(column.begin(), column.end());
    return column;
}

// The objects that ghosts share. Only rank 0 makes them, decides, and changes the plan. All ranks record their
// steps.
struct GhostWorld {
    GhostWorld(setup::Setup setup, const comm::Session& session, records::Manifest manifest)
        : parts(std::move(setup), session.nodes(), {}, std::move(manifest), true),
          messages(session.blank_memory(std::size_t{1} << 30)),
          records(session.size()) {
        share_pass_times(session);
    }

    // Ranks share the times of passes if the replicas of the plan are alike.
    void share_pass_times(const comm::Session& session) {
        const bool are_shared = setup::charges_passes(parts.job.config, session.size()) &&
                                replicas_are_alike(parts.job, parts.current.plan.layout, session.nodes());
        pass_times = are_shared ? std::make_shared<stage::PassTimes>() : nullptr;
    }

    RunParts parts;
    std::shared_ptr<const comm::BlankMemory> messages;
    std::shared_ptr<stage::PassTimes> pass_times;  // null if ranks share none
    GhostRecords records;
    setup::RankMemory memory = {};  // of the fullest rank
};

class GhostBackend : public Backend {
public:
    GhostBackend(std::shared_ptr<GhostWorld> world, const comm::Session& session, comm::Communicator& control,
                 device::Patience patience)
        : world_(std::move(world)), session_(session), control_(control), patience_(patience) {}

    RunParts& parts() override { return world_->parts; }
    bool keeps_records() const override { return session_.rank() == 0; }

    void show_plan() override {
        if (keeps_records()) parts().recorder.introduce(current(), parts().deciding.origin(), world_->memory);
        barrier(control_);
    }

    void prepare(device::Trace* trace) override {
        trace_ = trace;
        if (keeps_records())
            parts().recorder.begin(current(), parts().deciding.origin(), world_->memory,
                                   peak_of_all(control_, job(), 1, session_));
        start_trainer();
    }

    rank::RankTrainer& trainer() override { return *trainer_; }

    std::size_t end_of_stretch(std::size_t first) const override {
        return world_->parts.deciding.next_chance(first);
    }

    void settle(records::StepOutcome outcome,
                const std::function<void(records::StepOutcome&)>& record) override {
        world_->records.add(session_.rank(), outcome, record);
    }

    void wait_for_records() override { barrier(control_); }

    std::shared_ptr<adapt::Choice> choose(std::size_t step) override {
        look_began_ = device::now_seconds();
        return shared_by_first(control_, keeps_records() ? choose_for_all(step) : nullptr);
    }

    records::PlanChange change_plan(adapt::Choice& choice, std::size_t) override {
        adapt::PlanTransition& transition = choice.transition;
        records::PlanChange change{.from = hash_of(current().plan),
                                   .to = hash_of(transition.to.plan),
                                   .moved_bytes = transition.moved_bytes(job()),
                                   .kept_bytes = transition.kept_bytes(job())};
        if (transition.moves_state) trainer_.reset();
        barrier(control_);  // no rank may read the plan while rank 0 changes it
        if (keeps_records()) change_world(transition);
        barrier(control_);
        if (transition.moves_state) {
            start_trainer();
            move_state(transition.moves);
            barrier(control_);
        }
        change.seconds = device::now_seconds() - look_began_;
        return change;
    }

    std::optional<records::Evaluation> evaluate() override { return std::nullopt; }
    void save(std::size_t, bool) override {}
    void advance_saving() override {}
    void finish_saving() override {}

    records::Figures figures(const std::optional<records::Evaluation>& validation) override {
        barrier(control_);  // all ranks have recorded their steps
        if (!keeps_records()) return {};
        records::Figures figures = parts().recorder.figures(validation);
        figures.predicted_bytes = world_->memory.total();
        return figures;
    }

    void finish() override {}

private:
    const setup::Job& job() const { return world_->parts.job; }
    setup::PlanState& current() { return world_->parts.current; }

    void start_trainer() {
        const int rank = session_.rank();
        device::Stream stream{.backend = device::GhostStream{}, .seconds_of = kernel_seconds_of(job(), rank)};
        trainer_.emplace(job(), current(),
                         rank::TrainingRank{.number = rank, .stream = std::move(stream), .trace = trace_},
                         groups());
        if (setup::charges_passes(job().config, session_.size()))
            trainer_->charge_whole_passes(world_->pass_times);
        if (world_->pass_times && is_in_first_replica()) trainer_->rehearse();
    }

    std::shared_ptr<adapt::Choice> choose_for_all(std::size_t step) {
        adapt::Deciding& deciding = parts().deciding;
        std::optional<adapt::Choice> choice = deciding.choose(step);
        if (!choice) return nullptr;
        const std::string lack =
            lack_on_devices(job(), memory_of_plan(job(), choice->transition.to, session_.size()));
        if (!lack.empty()) deciding.refuse(lack);
        return lack.empty() ? std::make_shared<adapt::Choice>(std::move(*choice)) : nullptr;
    }

    void change_world(adapt::PlanTransition& transition) {
        apply(transition, current());
        if (transition.moves_state) world_->share_pass_times(session_);
        const setup::RankMemory memory = fullest_of(memory_of_plan(job(), current(), session_.size()));
        if (memory.total() > world_->memory.total()) world_->memory = memory;
    }

    // Collective. Sends messages with the sizes of parameters and moments.
    void move_state(const rank::StateMoves& moves) {
        if (!mover_) mover_ = without_values(session_.all_ranks("mover", patience_), world_->messages);
        const device::DType dtype = job().dtype;
        for (std::size_t kept = 0; kept < kept_of(job().config.optimizer, dtype); ++kept)
            carry_out(moves.moments, {}, {}, wide_of(dtype), *mover_);
        carry_out(moves.values, {}, {}, dtype, *mover_);
    }

    bool is_in_first_replica() {
        return std::ranges::any_of(current().plan.layout.stages, [&](const layout::StageLayout& stage) {
            const std::vector<int>& ranks = stage.replicas.front().ranks;
            return std::ranges::find(ranks, session_.rank()) != ranks.end();
        });
    }

    rank::RankGroups groups() {
        const plan::Plan& plan = current().plan;
        rank::RankGroups groups =
            rank::make_groups(session_, plan, current().gradients.buckets, {.patience = patience_});
        groups.record = comm::single_rank("record");
        const bool is_idle = plan.team_of(session_.rank()) < 0;
        const bool are_many = session_.size() > setup::max_ranks_in_detail;
        if (are_many && !plan.training.shape.updates_alone) {
            groups.update =
                is_idle ? comm::single_rank("update")
                        : session_.group_of(column_of(plan, groups.pipe, session_.rank()), "update", patience_);
        }
        if (is_idle) return groups;
        for (auto* group : {&groups.activations, &groups.gradients, &groups.tensor}) {
            if (*group) *group = without_values(std::move(*group), world_->messages);
        }
        const auto without = are_many ? comm::around_ring_without_values : comm::without_values;
        for (auto& [ranks, group] : groups.data) group = without(std::move(group), world_->messages);
        return groups;
    }

    std::shared_ptr<GhostWorld> world_;
    const comm::Session& session_;
    comm::Communicator& control_;
    device::Patience patience_;
    device::Trace* trace_ = nullptr;
    double look_began_ = 0;
    std::optional<rank::RankTrainer> trainer_;
    std::unique_ptr<comm::Communicator> mover_;  // null until state moves
};

std::shared_ptr<GhostWorld> make_world(const config::RunConfig& config, const comm::Session& session) {
    setup::Setup setup = setup::set_up(config, session.size());
    rank::check_traced_steps(config.run.trace, setup.job.steps);
    adapt::check_straggler(config, setup.current.plan);
    setup.job.slow = slow_run_of(setup.job, session.size());
    const std::vector<setup::RankMemory> memories = memory_of_plan(setup.job, setup.current, session.size());
    const std::string lack = lack_on_devices(setup.job, memories);
    if (!lack.empty()) throw ConfigError(lack);
    records::Manifest manifest = make_manifest({setup.job, setup.current.plan, session});
    auto world = std::make_shared<GhostWorld>(std::move(setup), session, std::move(manifest));
    world->memory = fullest_of(memories);
    if (!config.run.dry_run) world->parts.recorder.open_directory();
    return world;
}

}  // namespace

std::unique_ptr<Backend> ghost_backend(const config::RunConfig& config, const comm::Session& session,
                                       comm::Communicator& control, device::Patience patience) {
    std::shared_ptr<GhostWorld> world;
    agree(control, [&] {
        if (session.rank() == 0) world = make_world(config, session);
    });
    world = shared_by_first(control, world);
    std::vector<std::string> hosts = gather_all(control, session.host());
    if (session.rank() == 0) world->parts.recorder.set_hosts(std::move(hosts));
    return std::make_unique<GhostBackend>(std::move(world), session, control, patience);
}

}  // namespace trireme::run
