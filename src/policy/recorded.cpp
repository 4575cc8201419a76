#include <algorithm>

#include "trireme/policy/policy.hpp"

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

Policy first_of(std::vector<Policy> policies) {
    return [all = std::move(policies)](const Observation& observed, const Plan& current) {
        std::optional<Decision> decision;
        for (auto policy = all.begin(); policy != all.end() && !decision; ++policy)
            decision = (*policy)(observed, current);
        return decision;
    };
}

}  // namespace trireme
