#include "trireme/policy/policy.hpp"

#include <algorithm>
#include <utility>

namespace trireme::policy {

Policy make_recorded_policy(std::vector<plan::Decision> decisions) {
    for (plan::Decision& decision : decisions) {
        if (decision.policy.empty()) decision.policy = "recorded";
    }
    return [decisions = std::move(decisions)](const plan::Observation& observed,
                                              const plan::Plan&) -> std::optional<plan::Decision> {
        const auto found = std::ranges::find(decisions, observed.step, &plan::Decision::step);
        return found == decisions.end() ? std::nullopt : std::optional(*found);
    };
}

Policy make_bridged_policy(Policy bridge, Policy lasting, std::size_t steps) {
    return [bridge = std::move(bridge), lasting = std::move(lasting), steps](
               const plan::Observation& observed, const plan::Plan& current) -> std::optional<plan::Decision> {
        const bool is_any_rank_slow =
            std::ranges::any_of(observed.slowness, [](double factor) { return factor > 1; });
        if (is_any_rank_slow && observed.steady_steps < steps) return bridge(observed, current);
        if (auto decision = lasting(observed, current)) return decision;
        return is_any_rank_slow ? std::nullopt : bridge(observed, current);
    };
}

}  // namespace trireme::policy
