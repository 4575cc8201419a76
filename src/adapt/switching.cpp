#include "trireme/adapt/switching.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "trireme/cache/sample_cache.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/staged_moves.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/sample_homes.hpp"

namespace trireme::adapt {
namespace {

// Returns the bytes of `values` elements of parameters and `moments` elements of each kind of optimizer state.
std::size_t count_state_bytes(std::size_t values, std::size_t moments, const setup::Job& job) {
    return values * byte_size(job.dtype) + count_state_values(job.config.optimizer, job.dtype) * moments *
                                               byte_size(accumulator_type(job.dtype));
}

// Moves the state to the memory of the new plan. The numbers of bytes are sums over all ranks.
struct StateMover {
    std::size_t moved_bytes = 0;
    std::size_t kept_bytes = 0;                      // bytes that stay on their rank
    std::function<void(rank::RankState)> move = {};  // called after the new trainer has been made
};

StateMover make_message_mover(PlanTransition& transition, const RunningPlan& running) {
    const setup::Job& job = running.job;
    return {.moved_bytes = transition.count_moved_bytes(job),
            .kept_bytes = transition.count_kept_bytes(job),
            .move = [&running, &job, &transition](rank::RankState state) {
                rank::RankTrainer& trainer = *running.trainer;
                const rank::StateDestination destination = trainer.state_destination();
                if (job.config.policy.move == config::MoveMethod::stop)
                    return move_state(std::move(state), destination, std::move(transition.moves), job.dtype,
                                      running.mover);
                trainer.await_moments(move_values_first(std::move(state), destination,
                                                        std::move(transition.moves), job.dtype, running.mover));
            }};
}

StateMover make_staged_mover(PlanTransition& transition, const RunningPlan& running) {
    const rank::StagedMoves& moves = transition.staged_moves;
    const setup::Job& job = running.job;
    return {
        .moved_bytes = count_state_bytes(moves.values.count_elements(), moves.moments.count_elements(), job),
        .kept_bytes = count_state_bytes(moves.values.local.count_local_elements(),
                                        moves.moments.local.count_local_elements(), job) +
                      transition.count_bytes_in_place(job),
        .move = [&running, &job, &moves](rank::RankState state) {
            const int node = running.job.nodes.at(static_cast<std::size_t>(running.session.rank()));
            move_state_by_staging(std::move(state), running.trainer->state_destination(), moves, job.dtype,
                                  {.group = running.mover, .node = node, .memory = *running.staging_memory});
        }};
}

// Returns the seconds after which a wait of this rank for other ranks counts as a stall.
double choose_stall_limit(const RunningPlan& running) {
    return rank::choose_stall_limit(running.current.plan, running.session.rank(),
                                    running.job.config.run.stall_timeout);
}

// Sets the stall limit of this rank in the groups that outlive a plan.
void set_stall_limits(const RunningPlan& running) {
    running.control.set_stall_seconds(choose_stall_limit(running));
    running.mover.set_stall_seconds(choose_stall_limit(running));
    if (running.staging_memory != nullptr)
        running.staging_memory->group().set_stall_seconds(choose_stall_limit(running));
}

// Collective over all ranks. Initializes the new trainer from `checkpoint`.
void read_checkpoint(const std::filesystem::path& checkpoint, const RunningPlan& running) {
    rank::read_with_unlimited_wait(running.control, choose_stall_limit(running), [&] {
        const checkpoint::StoredModel stored = checkpoint::StoredModel::open(checkpoint);
        running.trainer->fill({.stored = &stored, .resumes = true});
    });
}

// Collective over all ranks. Saves a checkpoint. With the returned mover, each rank reads its state under the
// new plan from this checkpoint.
StateMover make_checkpoint_mover(PlanTransition& transition, const RunningPlan& running) {
    const setup::PlanState& to = transition.to;
    const std::vector<layout::HeldTensor> updated = rank::find_updated_tensors({to.plan, to.gradients});
    return {.moved_bytes = count_state_bytes(rank::count_held_elements(to.gradients.tensors),
                                             rank::count_held_elements(updated), running.job),
            .kept_bytes = 0,
            .move = [&running, checkpoint = running.save()](const rank::RankState&) {
                read_checkpoint(checkpoint, running);
            }};
}

StateMover make_state_mover(PlanTransition& transition, const RunningPlan& running) {
    switch (running.job.config.policy.move) {
        case config::MoveMethod::stop:
        case config::MoveMethod::overlap:
            return make_message_mover(transition, running);
        case config::MoveMethod::twins:
            return make_staged_mover(transition, running);
        case config::MoveMethod::restart:
            return make_checkpoint_mover(transition, running);
    }
    throw BugError("unknown method of moving the state");
}

// Frees the memory and groups of the old plan and returns its state; with --move restart the state is empty,
// because ranks read it from a checkpoint.
rank::RankState release_old_plan(const RunningPlan& running) {
    rank::RankState state;
    if (running.job.config.policy.move != config::MoveMethod::restart) state = running.trainer->take_state();
    running.trainer.reset();
    return state;
}

double max_over_ranks(comm::Communicator& control, double seconds) {
    const std::vector<double> all = all_gather(control, std::array{seconds});
    return *std::ranges::max_element(all);
}

}  // namespace

std::unique_ptr<comm::NodeMemory> make_staging_memory(config::MoveMethod method, const comm::Session& session,
                                                      device::WaitPolicy wait_policy) {
    return method == config::MoveMethod::twins ? session.make_node_memory(wait_policy) : nullptr;
}

void start_trainer(const RunningPlan& running, std::optional<model::ParameterTensors> values) {
    const setup::Job& job = running.job;
    const setup::PlanState& current = running.current;
    set_stall_limits(running);
    const int rank = running.session.rank();
    if (cache::SampleCache* const cache = find_cache(job, rank)) cache->set_depth(current.plan.frozen);
    device::Stream stream =
        rank::make_stream(job.config.precision.device, running.threads, make_kernel_seconds(job, rank));
    // In a real run, each launch of a matmul calls expect_seconds(), so the function must be fast. Typical
    // rates are accurate enough, because only the ratios of the expected times matter.
    stream.expect_seconds =
        job.devices ? make_relative_kernel_seconds(job, 0) : setup::make_typical_kernel_seconds();
    const rank::GroupResources resources = make_group_resources(stream, running.transport, running.watchdog);
    rank::RankGroups groups = make_groups(running.session, current.plan, current.gradients.buckets, resources);
    running.trainer.emplace(job, current,
                            rank::TrainingRank{.rank = rank,
                                               .stream = std::move(stream),
                                               .trace = running.trace,
                                               .stopping = running.stopping,
                                               .values = std::move(values)},
                            std::move(groups));
}

records::PlanChange carry_out_transition(PlanTransition& transition, const RunningPlan& running) {
    const double begin = device::now_seconds();
    records::PlanChange change{.from = compute_hash(running.current.plan),
                               .to = compute_hash(transition.to.plan)};
    running.watchdog.set_position_callback([] { return "moves to another plan"; });
    const StateMover state_mover = make_state_mover(transition, running);
    change.moved_bytes = state_mover.moved_bytes;
    change.kept_bytes = state_mover.kept_bytes;
    rank::RankState state = release_old_plan(running);
    std::optional<model::ParameterTensors> values;
    if (transition.keeps_layout()) values = std::exchange(state.values, std::nullopt);
    running.current = std::move(transition.to);
    start_trainer(running, std::move(values));
    state_mover.move(std::move(state));
    running.complete_trainer();
    running.watchdog.set_position_callback(
        [&trainer = *running.trainer] { return trainer.describe_position(); });
    change.seconds = max_over_ranks(running.control, device::now_seconds() - begin);
    return change;
}

}  // namespace trireme::adapt
