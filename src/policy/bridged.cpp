#include "trireme/policy/bridged.hpp"

#include <algorithm>
#include <utility>

namespace trireme {

Policy bridged(Policy bridge, Policy lasting, std::size_t steps) {
    return [bridge = std::move(bridge), lasting = std::move(lasting), steps](
               const Observation& observed, const Plan& current) -> std::optional<Decision> {
        const bool is_some_slow =
            std::ranges::any_of(observed.slowness, [](double factor) { return factor > 1; });
        if (is_some_slow && observed.steady_steps < steps) return bridge(observed, current);
        if (auto decision = lasting(observed, current)) return decision;
        return is_some_slow ? std::nullopt : bridge(observed, current);
    };
}

}  // namespace trireme
