#include "trireme/policy/policy.hpp"

#include <algorithm>
#include <utility>

namespace trireme {

Policy recorded(std::vector<Decision> decisions) {
    for (Decision& decision : decisions) {
        if (decision.policy.empty()) decision.policy = "recorded";
    }
    return [known = std::move(decisions)](const Observation& observed, const Plan&) -> std::optional<Decision> {
        const auto at = std::ranges::find(known, observed.step, &Decision::step);
        return at == known.end() ? std::nullopt : std::optional(*at);
    };
}

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
