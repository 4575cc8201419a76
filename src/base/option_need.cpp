#include "trireme/base/option_need.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

std::string no_effect(const std::string& option, const OptionNeed& need) {
    return cat(option, " has no effect without ", need.condition, "; set ", need.remedy, " or drop ", option);
}

}  // namespace trireme
