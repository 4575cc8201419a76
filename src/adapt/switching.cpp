#include "trireme/adapt/switching.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/twin_moves.hpp"
#include "trireme/setup/model_work.hpp"

namespace trireme::adapt {
namespace {

// Returns the bytes of `values` parameters and of `moments` elements of each tensor that the optimizer keeps.
std::size_t bytes_of_state(std::size_t values, std::size_t moments, const setup::Job& job) {
    return values * bytes_of(job.dtype) +
           kept_of(job.config.optimizer, job.dtype) * moments * bytes_of(wide_of(job.dtype));
}

// A method of moving the state to the memory of the new plan. Bytes are summed over ranks.
struct Way {
    std::size_t moved_bytes = 0;
    std::size_t kept_bytes = 0;
    std::function<void(rank::RankState)> move = {};  // called once the new trainer exists
};

Way way_by_messages(PlanTransition& transition, const RunningPlan& running) {
    const setup::Job& job = running.job;
    return {.moved_bytes = transition.moved_bytes(job),
            .kept_bytes = transition.kept_bytes(job),
            .move = [&running, &job, &transition](rank::RankState state) {
                rank::RankTrainer& trainer = *running.trainer;
                const rank::StatePlace place = trainer.state_place();
                if (job.config.policy.move == config::MoveWay::stop)
                    return move_state(std::move(state), place, std::move(transition.moves), job.dtype,
                                      running.mover);
                trainer.await(move_values_first(std::move(state), place, std::move(transition.moves), job.dtype,
                                                running.mover));
            }};
}

Way way_by_twins(PlanTransition& transition, const RunningPlan& running) {
    const rank::TwinMoves& moves = transition.twin_moves;
    const setup::Job& job = running.job;
    return {.moved_bytes = bytes_of_state(moves.values.elements(), moves.moments.elements(), job),
            .kept_bytes =
                bytes_of_state(moves.values.stay.elements_kept(), moves.moments.stay.elements_kept(), job),
            .move = [&running, &job, &moves](rank::RankState state) {
                const int node = running.nodes.at(static_cast<std::size_t>(running.session.rank()));
                move_state_by_twins(std::move(state), running.trainer->state_place(), moves, job.dtype,
                                    {.group = running.mover, .node = node, .memory = *running.twin});
            }};
}

std::size_t held_elements(const std::vector<layout::HeldTensor>& tensors) {
    std::size_t sum = 0;
    for (const layout::HeldTensor& tensor : tensors) {
        for (const layout::Slice& slice : tensor.slices) sum += slice.box.size();
    }
    return sum;
}

double stall_limit(const RunningPlan& running) {
    return rank::stall_limit(running.current.plan, running.session.rank(),
                             running.job.config.run.stall_timeout);
}

// Limits how long this rank waits for others in the groups that outlive a plan.
void limit_patience(const RunningPlan& running) {
    running.control.give_up_after(stall_limit(running));
    running.mover.give_up_after(stall_limit(running));
    if (running.twin != nullptr) running.twin->group().give_up_after(stall_limit(running));
}

// Collective over all ranks. Fills the new trainer from `checkpoint`.
void load(const std::filesystem::path& checkpoint, const RunningPlan& running) {
    rank::read_together(running.control, stall_limit(running), [&] {
        const checkpoint::StoredModel stored = checkpoint::StoredModel::open(checkpoint);
        running.trainer->fill({.stored = &stored, .resumes = true});
    });
}

// Collective over all ranks. Saves a checkpoint, from which each rank reads its state under the new plan.
Way way_by_disk(PlanTransition& transition, const RunningPlan& running) {
    const setup::PlanState& to = transition.to;
    const std::vector<layout::HeldTensor> updated = rank::updated_tensors(to.plan, to.gradients);
    return {
        .moved_bytes = bytes_of_state(held_elements(to.gradients.tensors), held_elements(updated), running.job),
        .kept_bytes = 0,
        .move = [&running, place = running.save()](const rank::RankState&) { load(place, running); }};
}

Way way_to(PlanTransition& transition, const RunningPlan& running) {
    switch (running.job.config.policy.move) {
        case config::MoveWay::stop:
        case config::MoveWay::overlap:
            return way_by_messages(transition, running);
        case config::MoveWay::twins:
            return way_by_twins(transition, running);
        case config::MoveWay::restart:
            return way_by_disk(transition, running);
    }
    throw BugError("unknown way to move");
}

// Frees the memory and groups of the old plan and returns its state; the state is empty with --move restart.
rank::RankState leave_plan(const RunningPlan& running) {
    rank::RankState state = running.trainer->take_state();
    running.trainer.reset();
    if (running.job.config.policy.move == config::MoveWay::restart) return {};
    return state;
}

double slowest(comm::Communicator& control, double seconds) {
    const std::vector<double> all = gather_all(control, std::array{seconds});
    return *std::ranges::max_element(all);
}

}  // namespace

std::unique_ptr<comm::NodeMemory> make_twin(config::MoveWay way, const comm::Session& session,
                                            device::Patience patience) {
    if (way != config::MoveWay::twins) return nullptr;
    const std::vector<int>& nodes = session.nodes();
    std::vector<int> ranks;
    for (int rank = 0; rank < session.size(); ++rank) {
        if (nodes[static_cast<std::size_t>(rank)] == session.node()) ranks.push_back(rank);
    }
    return session.node_memory(ranks, patience);
}

void start_trainer(const RunningPlan& running) {
    const setup::Job& job = running.job;
    const setup::PlanState& current = running.current;
    limit_patience(running);
    const int rank = running.session.rank();
    device::Stream stream =
        rank::make_stream(job.config.precision.device, running.threads, kernel_seconds_of(job, rank));
    const rank::GroupWiring wiring = wiring_for(stream, running.road, running.watchdog);
    rank::RankGroups groups = make_groups(running.session, current.plan, current.gradients.buckets, wiring);
    running.trainer.emplace(
        job, current,
        rank::TrainingRank{
            .number = rank, .stream = std::move(stream), .trace = running.trace, .stopping = running.stopping},
        std::move(groups));
}

records::PlanChange switch_to(PlanTransition& transition, const RunningPlan& running) {
    const double begin = device::now_seconds();
    records::PlanChange change{.from = hash_of(running.current.plan), .to = hash_of(transition.to.plan)};
    running.watchdog.ask([] { return "moves to another plan"; });
    const Way way = way_to(transition, running);
    change.moved_bytes = way.moved_bytes;
    change.kept_bytes = way.kept_bytes;
    rank::RankState state = leave_plan(running);
    apply(transition, running.current);
    start_trainer(running);
    way.move(std::move(state));
    running.watchdog.ask([&trainer = *running.trainer] { return trainer.position(); });
    change.seconds = slowest(running.control, device::now_seconds() - begin);
    return change;
}

}  // namespace trireme::adapt
