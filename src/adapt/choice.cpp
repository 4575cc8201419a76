#include "trireme/adapt/choice.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::adapt {

std::uint64_t number_plan(const plan::Plan& plan) {
    return 1 + (std::stoull(compute_hash(plan), nullptr, 16) >> 12);
}

void check_equal_plans(comm::Communicator& control, const Choice* choice, std::size_t step) {
    const std::vector<std::string> plans =
        all_gather(control, choice ? compute_hash(choice->transition.to.plan) : "none");
    if (std::ranges::count(plans, plans.front()) == std::ssize(plans)) return;
    throw ConfigError(cat("the ranks have chosen different plans after step ", step,
                          "; use the same --schedule file, --profile files and trireme program on all nodes"));
}

}  // namespace trireme::adapt
