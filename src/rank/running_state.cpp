#include "rank/running_state.hpp"

namespace trireme::rank {
namespace {

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
    const std::size_t moments = optimizer.kept().size() - (optimizer.masters() == nullptr ? 0 : 1);
    for (std::size_t m = 0; m < moments; ++m)
        add_shards(views, specs, optimizer, checkpoint::state_field(1 + m), optimizer.kept()[m]);
}

}  // namespace

std::vector<checkpoint::StateView> views_of(const stage::LocalParameters& held,
                                            const optim::Optimizer& optimizer) {
    std::vector<checkpoint::StateView> views;
    if (optimizer.masters() != nullptr)
        add_shards(views, held.specs(), optimizer, checkpoint::StateField::value, *optimizer.masters());
    for (std::size_t i = 0; optimizer.masters() == nullptr && i < held.specs().size(); ++i) {
        const model::ParameterSpec& spec = held.specs()[i];
        add_views(views, spec, checkpoint::StateField::value, {{0, spec.rows}, {0, spec.columns}},
                  held.values()[i]);
    }
    add_moments(views, held.specs(), optimizer);
    return views;
}

void restore(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
             optim::Optimizer& optimizer, int threads) {
    std::vector<checkpoint::StateView> views;
    add_moments(views, specs, optimizer);
    stored.read(views, threads);
    optimizer.go_on_from(stored.updates_behind(views));
}

}  // namespace trireme::rank
