#include "train/switching.hpp"

#include <algorithm>
#include <array>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme {
namespace {

std::size_t kept_elements(const Move& move) {
    std::size_t sum = 0;
    for (const Transfer& kept : move.kept) sum += kept.box.size();
    return sum;
}

// Of all ranks: all parts of the state.
PlanChange change_by(const StateMoves& moves, std::size_t moments, DType dtype) {
    const std::size_t sent = moves.values.elements_sent() + moments * moves.moments.elements_sent();
    const std::size_t kept = kept_elements(moves.values) + moments * kept_elements(moves.moments);
    return {.moved_bytes = sent * bytes_of(dtype), .kept_bytes = kept * bytes_of(dtype)};
}

double slowest(Communicator& control, double seconds) {
    const std::vector<double> all = gather_all(control, std::array{seconds});
    return *std::ranges::max_element(all);
}

void move(RankState state, StateMoves moves, const RunningPlan& running) {
    RankTrainer& trainer = *running.trainer;
    const DType dtype = running.setup.dtype;
    switch (running.config.policy.move) {
        case MoveWay::stop:
            return move_state(std::move(state), trainer.state_place(), std::move(moves), dtype, running.mover);
        case MoveWay::overlap:
            return trainer.await(move_values_first(std::move(state), trainer.state_place(), std::move(moves),
                                                   dtype, running.mover));
    }
}

}  // namespace

void start_trainer(const RunningPlan& running) {
    const RunConfig& config = running.config;
    const Setup& setup = running.setup;
    const int rank = running.session.rank();
    for (Communicator* const group : {&running.control, &running.mover}) {
        if (setup.plan.team_of(rank) < 0) {
            group->never_give_up();
        } else {
            group->give_up_after(config.run.stall_timeout);
        }
    }
    running.trainer.emplace(
        config, setup, running.gradients, rank,
        make_groups(running.session, setup.plan, running.gradients.buckets, running.watchdog.patience()),
        running.threads);
}

PlanChange switch_to(DecidedPlan next, const RunningPlan& running) {
    const double begin = now_seconds();
    Setup& setup = running.setup;
    const MoveRules rules{.nodes = running.nodes, .most_elements = next.elements_in_flight};
    GradientPlan to_hold = gradient_plan(next.sized(setup));
    StateMoves moves = state_moves(setup.plan, running.gradients, next.plan, to_hold, rules);
    PlanChange change = change_by(moves, moments_of(running.config.optimizer), setup.dtype);
    change.from = hash_of(setup.plan);
    change.to = hash_of(next.plan);

    running.watchdog.ask([] { return "moves to another plan"; });
    RankState state = running.trainer->take_state();
    running.trainer.reset();
    follow(std::move(next), setup);
    running.gradients = std::move(to_hold);
    start_trainer(running);
    move(std::move(state), std::move(moves), running);
    running.watchdog.ask([&trainer = *running.trainer] { return trainer.position(); });
    change.seconds = slowest(running.control, now_seconds() - begin);
    return change;
}

}  // namespace trireme
