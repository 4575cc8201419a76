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

}  // namespace trireme
