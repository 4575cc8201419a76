#include "trireme/adapt/switching.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/rank/twin_moves.hpp"
#include "trireme/setup/model_work.hpp"

namespace trireme {
namespace {

// Of values, and of each number that the optimizer keeps of them.
std::size_t bytes_of_state(std::size_t values, std::size_t moments, const RunningPlan& running) {
    const DType dtype = running.setup.dtype;
    return values * bytes_of(dtype) +
           kept_of(running.config.optimizer, dtype) * moments * bytes_of(wide_of(dtype));
}

// How the state gets to its new place, once that is there.
struct Way {
    std::size_t moved_bytes = 0;
    std::size_t kept_bytes = 0;
    std::function<void(RankState)> move = {};
};

Way way_by_messages(const Plan& to, const GradientPlan& to_hold, const MoveRules& rules,
                    const RunningPlan& running) {
    StateMoves moves = state_moves(running.setup.plan, running.gradients, to, to_hold, rules);
    const DType dtype = running.setup.dtype;
    const OptimizerConfig& optimizer = running.config.optimizer;
    return {.moved_bytes = moves.bytes(&Move::elements_sent, optimizer, dtype),
            .kept_bytes = moves.bytes(&Move::elements_kept, optimizer, dtype),
            .move = [&running, dtype, moves = std::move(moves)](RankState state) {
                RankTrainer& trainer = *running.trainer;
                const StatePlace place = trainer.state_place();
                if (running.config.policy.move == MoveWay::stop)
                    return move_state(std::move(state), place, moves, dtype, running.mover);
                trainer.await(move_values_first(std::move(state), place, moves, dtype, running.mover));
            }};
}

Way way_by_twins(const Plan& to, const GradientPlan& to_hold, const MoveRules& rules,
                 const RunningPlan& running) {
    TwinMoves moves = twin_moves(running.setup.plan, running.gradients, to, to_hold, rules);
    const DType dtype = running.setup.dtype;
    return {.moved_bytes = bytes_of_state(moves.values.elements(), moves.moments.elements(), running),
            .kept_bytes =
                bytes_of_state(moves.values.stay.elements_kept(), moves.moments.stay.elements_kept(), running),
            .move = [&running, dtype, moves = std::move(moves)](RankState state) {
                const int node = running.nodes.at(static_cast<std::size_t>(running.session.rank()));
                move_state_by_twins(std::move(state), running.trainer->state_place(), moves, dtype,
                                    {.group = running.mover, .node = node, .memory = *running.twin});
            }};
}

std::size_t held_elements(const std::vector<HeldTensor>& tensors) {
    std::size_t sum = 0;
    for (const HeldTensor& tensor : tensors) {
        for (const Slice& slice : tensor.slices) sum += slice.box.size();
    }
    return sum;
}

// Collective over all ranks, of which one may have much to read and another one little.
void load(const std::filesystem::path& checkpoint, const RunningPlan& running) {
    Setup& setup = running.setup;
    running.control.never_give_up();
    agree(running.control, [&] {
        const bool resumes = std::exchange(setup.resumes, true);
        setup.stored = StoredModel::open(checkpoint);
        running.trainer->fill();
        setup.stored.reset();
        setup.resumes = resumes;
    });
    limit_patience(running);
}

// Every rank reads what it is to have of what all have saved, whatever it had.
Way way_by_disk(const Plan& to, const GradientPlan& to_hold, const RunningPlan& running) {
    const std::vector<HeldTensor> updated = updated_tensors(to, to_hold);
    return {.moved_bytes = bytes_of_state(held_elements(to_hold.tensors), held_elements(updated), running),
            .kept_bytes = 0,
            .move = [&running, place = running.save()](const RankState&) { load(place, running); }};
}

Way way_to(const Plan& to, const GradientPlan& to_hold, const MoveRules& rules, const RunningPlan& running) {
    switch (running.config.policy.move) {
        case MoveWay::stop:
        case MoveWay::overlap:
            return way_by_messages(to, to_hold, rules, running);
        case MoveWay::twins:
            return way_by_twins(to, to_hold, rules, running);
        case MoveWay::restart:
            return way_by_disk(to, to_hold, running);
    }
    throw BugError("unknown way to move");
}

// What is left of a plan whose memory and groups are given back.
RankState leave_plan(const RunningPlan& running) {
    RankState state = running.trainer->take_state();
    running.trainer.reset();
    if (running.config.policy.move == MoveWay::restart) return {};
    return state;
}

double slowest(Communicator& control, double seconds) {
    const std::vector<double> all = gather_all(control, std::array{seconds});
    return *std::ranges::max_element(all);
}

}  // namespace

std::unique_ptr<NodeMemory> make_twin(MoveWay way, const Session& session, Patience patience) {
    if (way != MoveWay::twins) return nullptr;
    const std::vector<int>& nodes = session.nodes();
    std::vector<int> ranks;
    for (int rank = 0; rank < session.size(); ++rank) {
        if (nodes[static_cast<std::size_t>(rank)] == session.node()) ranks.push_back(rank);
    }
    return session.node_memory(ranks, patience);
}

// A rank that has nothing to do has nobody to wait for.
void limit_patience(const RunningPlan& running) {
    const RunConfig& config = running.config;
    std::vector<Communicator*> lasting{&running.control, &running.mover};
    if (running.twin != nullptr) lasting.push_back(&running.twin->group());
    for (Communicator* const group : lasting) {
        if (running.setup.plan.team_of(running.session.rank()) < 0) {
            group->never_give_up();
        } else {
            group->give_up_after(config.run.stall_timeout);
        }
    }
}

void start_trainer(const RunningPlan& running) {
    const RunConfig& config = running.config;
    const Setup& setup = running.setup;
    limit_patience(running);
    const int rank = running.session.rank();
    Stream stream = make_stream(config.precision.device, running.threads, kernel_seconds_of(setup, rank));
    const GroupWiring wiring = wiring_for(stream, running.road, running.watchdog);
    RankGroups groups = make_groups(running.session, setup.plan, running.gradients.buckets, wiring);
    running.trainer.emplace(
        config, setup, running.gradients,
        TrainingRank{
            .number = rank, .stream = std::move(stream), .trace = running.trace, .stopping = running.stopping},
        std::move(groups));
}

PlanChange switch_to(DecidedPlan next, const RunningPlan& running) {
    const double begin = now_seconds();
    Setup& setup = running.setup;
    const MoveRules rules{.nodes = running.nodes, .most_elements = next.elements_in_flight};
    PlanChange change{.from = hash_of(setup.plan), .to = hash_of(next.plan)};
    GradientPlan to_hold = gradient_plan(next.sized(setup));

    running.watchdog.ask([] { return "moves to another plan"; });
    const Way way = way_to(next.plan, to_hold, rules, running);
    change.moved_bytes = way.moved_bytes;
    change.kept_bytes = way.kept_bytes;
    RankState state = leave_plan(running);
    follow(std::move(next), setup);
    running.gradients = std::move(to_hold);
    start_trainer(running);
    way.move(std::move(state));
    running.watchdog.ask([&trainer = *running.trainer] { return trainer.position(); });
    change.seconds = slowest(running.control, now_seconds() - begin);
    return change;
}

}  // namespace trireme
