#include "trireme/policy/policy.hpp"

#include <algorithm>
#include <utility>

namespace trireme::policy {

Policy recorded(std::vector<plan::Decision> decisions) {
    for (plan::Decision& decision : decisions) {
        if (decision.policy.empty()) decision.policy = "recorded";
    }
    return [known = std::move(decisions)](const plan::Observation& observed,
                                          const plan::Plan&) -> std::optional<plan::Decision> {
        const auto at = std::ranges::find(known, observed.step, &plan::Decision::step);
        return at == known.end() ? std::nullopt : std::optional(*at);
    };
}

Policy bridged(Policy bridge, Policy lasting, std::size_t steps) {
    return [bridge = std::move(bridge), lasting = std::move(lasting), steps](
               const plan::Observation& observed, const plan::Plan& current) -> std::optional<plan::Decision> {
        const bool is_some_slow =
            std::ranges::any_of(observed.slowness, [](double factor) { return factor > 1; });
        if (is_some_slow && observed.steady_steps < steps) return bridge(observed, current);
        if (auto decision = lasting(observed, current)) return decision;
        return is_some_slow ? std::nullopt : bridge(observed, current);
    };
}

}  // namespace trireme::policy
