#include "rank/running_state.hpp"

namespace trireme::rank {
namespace {

// Adds views of `tensors`, which has one tensor per shard of the optimizer.
void add_shards(std::vector<checkpoint::StateView>& views, const std::vector<model::ParameterSpec>& specs,
                const optim::Optimizer& optimizer, checkpoint::StateField field,
                const model::ParameterTensors& tensors) {
    for (std::size_t s = 0; s < optimizer.shards().size(); ++s) {
        const auto& [parameter, box] = optimizer.shards()[s];
        add_views(views, specs[parameter], field, box, tensors[s]);
    }
}

void add_moments(std::vector<checkpoint::StateView>& views, const std::vector<model::ParameterSpec>& specs,
                 const optim::Optimizer& optimizer) {
    // Moment m is state()[m]. Master weights, if there are any, are the last entry of state(). StateField 0 is
    // the value, so moment m is StateField 1 + m.
    const std::size_t moment_count = optimizer.state().size() - (optimizer.master_weights() == nullptr ? 0 : 1);
    for (std::size_t m = 0; m < moment_count; ++m)
        add_shards(views, specs, optimizer, checkpoint::to_state_field(1 + m), optimizer.state()[m]);
}

}  // namespace

std::vector<checkpoint::StateView> make_state_views(const stage::LocalParameters& parameters,
                                                    const optim::Optimizer& optimizer) {
    std::vector<checkpoint::StateView> views;
    if (optimizer.master_weights() != nullptr)
        add_shards(views, parameters.specs(), optimizer, checkpoint::StateField::value,
                   *optimizer.master_weights());
    for (std::size_t i = 0; i < parameters.specs().size(); ++i) {
        const model::ParameterSpec& spec = parameters.specs()[i];
        if (spec.is_trained && optimizer.master_weights() != nullptr) continue;
        add_views(views, spec, checkpoint::StateField::value, {{0, spec.rows}, {0, spec.columns}},
                  parameters.values()[i]);
    }
    add_moments(views, parameters.specs(), optimizer);
    return views;
}

std::size_t count_moment_bytes(const std::vector<checkpoint::StateView>& views) {
    std::size_t bytes = 0;
    for (const checkpoint::StateView& view : views)
        if (view.field != checkpoint::StateField::value)
            bytes += view.box.size() * byte_size(view.memory.dtype);
    return bytes;
}

void restore_optimizer(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                       optim::Optimizer& optimizer, int threads) {
    std::vector<checkpoint::StateView> views;
    add_moments(views, specs, optimizer);
    std::erase_if(views, [&](const checkpoint::StateView& view) { return !stored.has_moments(view.tensor); });
    stored.read(views, threads);
    const checkpoint::UpdateCounts counts = stored.read_update_counts(views);
    std::vector<std::size_t> updates;
    for (const model::ParameterSpec& spec : specs) {
        const auto found = counts.find(spec.name);
        updates.push_back(found == counts.end() ? 0 : found->second);
    }
    optimizer.resume_from(std::move(updates));
}

checkpoint::UpdateCounts find_update_counts(const optim::Optimizer* optimizer) {
    checkpoint::UpdateCounts counts;
    for (std::size_t i = 0; optimizer != nullptr && i < optimizer->specs().size(); ++i)
        if (optimizer->specs()[i].is_trained) counts[optimizer->specs()[i].name] = optimizer->updates()[i];
    return counts;
}

}  // namespace trireme::rank
