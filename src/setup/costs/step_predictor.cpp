#include "trireme/setup/step_predictor.hpp"

#include "trireme/setup/model_work.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_costs.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::setup {
namespace {

// Returns a machine of equal ranks without network, on which a matmul that is large enough runs at
// `flops_per_rank`.
Machine make_relative_machine(const Job& job, double flops_per_rank) {
    constexpr double flops = 1e15;
    const device::KernelTimePredictor predict = make_relative_kernel_seconds(job, 0);
    const double relative_rate = flops / predict({.kernel = "linear", .flops = flops}, 1);
    const double factor = flops_per_rank > 0 ? relative_rate / flops_per_rank : 1;
    Machine machine;
    machine.kernel_seconds.push_back(adapt_kernel_seconds(
        [=](const device::Cost& cost, double clock) { return factor * predict(cost, clock); }));
    machine.find_kind = [](int /*rank*/) { return std::size_t{0}; };
    machine.find_node = [](int /*rank*/) { return std::size_t{0}; };
    machine.find_link = [](int /*a*/, int /*b*/, std::size_t /*messages*/) {
        constexpr double unlimited_bandwidth = 1e18;
        return layout::Link{0, unlimited_bandwidth};
    };
    return machine;
}

}  // namespace

struct StepPredictor::State {
    State(const Job& job, PlanState plan_state, int ranks, double flops)
        : current(std::move(plan_state)),
          planner(job, current),
          machine(job.devices ? read_machine(job.config, ranks) : make_relative_machine(job, flops / ranks)),
          priced{.model = job.model,
                 .plan = current.plan,
                 .dtype = job.dtype,
                 .optimizer = job.config.optimizer,
                 .gradients = current.gradients},
          costs(priced, machine) {}

    PlanState current;
    StepPlanner planner;
    Machine machine;
    PricedPlan priced;
    StepCostPredictor costs;
};

StepPredictor::StepPredictor(const Job& job, const PlanState& current, int ranks, double flops)
    : state_(std::make_unique<State>(job, current, ranks, flops)) {}
StepPredictor::~StepPredictor() = default;

double StepPredictor::predict_seconds(std::size_t step) {
    std::vector<plan::MicrobatchShape> shapes;
    for (const stage::BatchShape& shape : state_->planner.list_shapes(step))
        shapes.push_back(count_shape(shape));
    const plan::ProvedPrograms& training = state_->current.plan.training;
    return predict_step(training.phases(), training.shape, state_->costs.predict(shapes)).seconds;
}

}  // namespace trireme::setup
