#include "train/running_state.hpp"

namespace trireme {
namespace {

void add_moments(std::vector<StateView>& views, const std::vector<ParameterSpec>& specs,
                 const Optimizer& optimizer) {
    for (std::size_t m = 0; m < optimizer.moments().size(); ++m) {
        for (std::size_t s = 0; s < optimizer.shards().size(); ++s) {
            const auto& [parameter, box] = optimizer.shards()[s];
            add_views(views, specs[parameter], state_field(1 + m), box, optimizer.moments()[m][s]);
        }
    }
}

}  // namespace

std::vector<StateView> views_of(const LocalParameters& held, const Optimizer& optimizer) {
    std::vector<StateView> views;
    for (std::size_t i = 0; i < held.specs().size(); ++i) {
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
