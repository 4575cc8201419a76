// What is asked of a trainer between stretches, when nothing is in flight.
#include "rank/measured_links.hpp"
#include "rank/running_state.hpp"
#include "trireme/checkpoint/resizing_file.hpp"
#include "trireme/rank/evaluate_samples.hpp"
#include "trireme/rank/rank_trainer.hpp"

namespace trireme {
namespace {

// The bytes of the moments in `views`, which a checkpoint stores in the type that they have in memory.
std::size_t moment_bytes(const std::vector<StateView>& views) {
    std::size_t bytes = 0;
    for (const StateView& view : views)
        if (view.field != StateField::value) bytes += view.box.size() * bytes_of(view.memory.dtype);
    return bytes;
}

}  // namespace

void RankTrainer::fill(const FirstValues& values) {
    std::optional<ReadProgress> progress;
    if (values.stored != nullptr) {
        const std::size_t bytes =
            model_.stored_bytes(*values.stored) + (values.resumes ? moment_bytes(views()) : 0);
        progress.emplace(*values.stored, bytes, job_.config.run.quiet || model_.rank() != 0);
    }
    model_.fill(stream_, job_.config.run.seed, values, optimizer_ ? &*optimizer_ : nullptr);
    if (values.resumes && optimizer_)
        restore(*values.stored, model_.stages().parameters().specs(), *optimizer_, threads_of(stream_));
    if (values.goes_on_resizing) go_on_resizing(*values.stored);
}

void RankTrainer::go_on_resizing(const StoredModel& stored) {
    auto state = resizing_state();
    if (!state) return;
    read_resizing(stored.place(), stored.state()->save, model_.rank(), *state);
    model_.restore(*state);
    has_gone_on_ = true;
}

std::optional<ResizingState> RankTrainer::resizing_state() {
    prepare_to_share_products();
    return model_.resizing_state();
}

std::vector<StateView> RankTrainer::views() const {
    if (!optimizer_) return {};
    return views_of(model_.stages().parameters(), *optimizer_);
}

void RankTrainer::charge_whole_passes(std::shared_ptr<PassTimes> shared) {
    if (!model_.is_idle()) model_.stages().charge_whole_passes(std::move(shared));
}

void RankTrainer::rehearse() {
    const int team = current_.plan.team_of(model_.rank());
    const Program& program = current_.plan.training.programs[static_cast<std::size_t>(team)];
    const auto has = [&](Op op) {
        return std::ranges::any_of(program, [&](const Instruction& each) { return each.op == op; });
    };
    const BatchView batch(job_.model, current_.largest.front());
    if (has(Op::backward)) model_.stages().rehearse(stream_, batch.tokens(), false);
    if (has(Op::backward_input)) model_.stages().rehearse(stream_, batch.tokens(), true);
}

void RankTrainer::prepare_to_share_products() {
    if (!shares_products(current_.plan) || model_.may_share_products()) return;
    model_.prepare_to_share_products(stream_, job_.config.policy.resize, job_.config.run.seed);
}

// An idle rank has nothing to share.
void RankTrainer::share_products() {
    prepare_to_share_products();
    model_.share_products(stream_);
    know_spared();
}

void RankTrainer::know_spared() {
    has_gone_on_ = false;
    if (!job_.config.policy.resize.decays_all) spared_ = model_.left_out();
}

RankLinks RankTrainer::measure_links(Communicator& all) {
    return measured_links(model_.groups().tensor.get(), all);
}

RankState RankTrainer::take_state() {
    have_moments();
    if (model_.is_idle()) return {};
    LocalParameters& held = model_.stages().parameters();
    RankState state{.specs = held.specs(), .shards = optimizer_->shards(), .updates = optimizer_->updates()};
    state.values = held.take_values();
    state.kept = optimizer_->take_kept();
    return state;
}

StatePlace RankTrainer::state_place() {
    if (model_.is_idle()) return {};
    return {.parameters = &model_.stages().parameters(), .optimizer = &*optimizer_};
}

Evaluation RankTrainer::evaluate(Communicator& control) {
    return evaluate_samples(model_, stream_, job_, current_, control);
}

}  // namespace trireme
