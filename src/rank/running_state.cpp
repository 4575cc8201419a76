#include "rank/running_state.hpp"

namespace trireme {
namespace {

void add_shards(std::vector<StateView>& views, const std::vector<ParameterSpec>& specs,
                const Optimizer& optimizer, StateField field, const ParameterTensors& tensors) {
    for (std::size_t s = 0; s < optimizer.shards().size(); ++s) {
        const auto& [parameter, box] = optimizer.shards()[s];
        add_views(views, specs[parameter], field, box, tensors[s]);
    }
}

void add_moments(std::vector<StateView>& views, const std::vector<ParameterSpec>& specs,
                 const Optimizer& optimizer) {
    const std::size_t moments = optimizer.kept().size() - (optimizer.masters() == nullptr ? 0 : 1);
    for (std::size_t m = 0; m < moments; ++m)
        add_shards(views, specs, optimizer, state_field(1 + m), optimizer.kept()[m]);
}

}  // namespace

std::vector<StateView> views_of(const LocalParameters& held, const Optimizer& optimizer) {
    std::vector<StateView> views;
    if (optimizer.masters() != nullptr)
        add_shards(views, held.specs(), optimizer, StateField::value, *optimizer.masters());
    for (std::size_t i = 0; optimizer.masters() == nullptr && i < held.specs().size(); ++i) {
        const ParameterSpec& spec = held.specs()[i];
        add_views(views, spec, StateField::value, {{0, spec.rows}, {0, spec.columns}}, held.values()[i]);
    }
    add_moments(views, held.specs(), optimizer);
    return views;
}

void restore(const StoredModel& stored, const std::vector<ParameterSpec>& specs, Optimizer& optimizer,
             int threads) {
    std::vector<StateView> views;
    add_moments(views, specs, optimizer);
    stored.read(views, threads);
    optimizer.go_on_from(stored.updates_behind(views));
}

}  // namespace trireme
