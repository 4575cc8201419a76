#include "trireme/setup/model_work.hpp"

#include <algorithm>

#include "trireme/model/model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// Kernel times of an unknown device. Only the ratio of FLOPs to bytes matters here; this one is typical of a
// CPU core.
device::KernelSeconds usual_seconds() {
    constexpr double flops_of_a_byte = 16;
    return [](const device::Cost& cost, double clock) {
        return device::DeviceRates{.flops = flops_of_a_byte, .bandwidth = 1}.seconds(cost, clock);
    };
}

// The part of a layer that a rank of the smallest team holds with even shares.
model::TensorPart even_part(const plan::Plan& plan) {
    std::size_t ranks = plan.teams.front().ranks.size();
    for (const layout::Team& team : plan.teams) ranks = std::min(ranks, team.ranks.size());
    return {.rank = 0, .shares = std::vector<std::size_t>(ranks, 1)};
}

double seconds_of(const device::Ledger::Entry& entry, const device::KernelSeconds& seconds) {
    device::Cost one = entry.unit;
    const auto calls = static_cast<double>(entry.calls);
    one.flops /= calls;
    one.bytes /= calls;
    return calls * seconds(one, 1);
}

class Walks {
public:
    Walks(const Job& job, const PlanState& current)
        : job_(job), current_(current), part_(even_part(current.plan)), seconds_(kernel_seconds_of(job, 0)) {
        if (!seconds_) seconds_ = usual_seconds();
        const double updaters = current.plan.shards_optimizer ? least_replicas(current.plan.layout) : 1;
        const double kept = static_cast<double>(kept_of(job.config.optimizer, job.dtype)) / updaters;
        parameter_bytes_ = static_cast<double>(bytes_of(job.dtype)) +
                           (1 + kept) * static_cast<double>(bytes_of(wide_of(job.dtype)));
    }

    policy::LayerWork of(std::size_t layer, bool is_block) const {
        const stage::StageSpec spec{
            .layers = {layer, 1}, .part = part_, .recompute = current_.plan.recompute.front()};
        const stage::PassKind kind{.dtype = job_.dtype, .cuts_rows = current_.plan.cuts_rows};
        const stage::BatchShape& shape = current_.largest.front();
        const stage::StageMemory memory = predict(job_.model, spec, shape, kind);
        policy::LayerWork work{.products = 0,
                               .held_bytes = static_cast<std::size_t>(parameter_bytes_ * parameters_of(layer)),
                               .kept_bytes = memory.activations,
                               .workspace_bytes = memory.scratch + memory.again + memory.exchange};
        const device::Ledger ledger = work_of_pass(job_.model, spec, shape, kind);
        for (const device::Ledger::Entry& entry : ledger.entries()) {
            const bool is_product = is_block && entry.unit.is_product();
            (is_product ? work.products : work.others) += seconds_of(entry, seconds_);
        }
        return work;
    }

private:
    static double least_replicas(const layout::Layout& layout) {
        std::size_t least = layout.stages.front().replicas.size();
        for (const layout::StageLayout& stage : layout.stages) least = std::min(least, stage.replicas.size());
        return static_cast<double>(least);
    }

    double parameters_of(std::size_t layer) const {
        std::size_t count = 0;
        for (const model::ParameterSpec& spec :
             trireme::model::parameters_of(build_layers(job_.model, part_)[layer]))
            count += spec.size();
        return static_cast<double>(count);
    }

    const Job& job_;
    const PlanState& current_;
    model::TensorPart part_;
    device::KernelSeconds seconds_;
    double parameter_bytes_ = 0;  // per parameter, including gradient and optimizer state
};

}  // namespace

std::vector<policy::LayerWork> work_of_layers(const Job& job, const PlanState& current) {
    const Walks walks(job, current);
    std::vector<policy::LayerWork> work;
    for (const layout::LayerFacts& layer : layer_facts(job.model))
        work.push_back(walks.of(work.size(), layer.is_block));
    return work;
}

device::KernelSeconds kernel_seconds_of(const Job& job, int rank) {
    const ProfiledKernels* const profiled = job.kernels.of(rank);
    return profiled ? kernel_seconds_of(*profiled) : kernel_seconds_of(job.devices, rank);
}

}  // namespace trireme::setup
