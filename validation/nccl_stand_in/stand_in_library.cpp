#include "nccl_stand_in/stand_in_library.hpp"

#include <utility>

#include "emulated_gpu/queue.hpp"

namespace trireme {

StandIn::StandIn() {
    library_.load_symbol("nccl_stand_in_settings", settings_);
    library_.load_symbol("nccl_stand_in_complaints", complaints_);
    library_.load_symbol("nccl_stand_in_forget_all", forget_all_);
    library_.load_symbol("nccl_stand_in_disappear", disappear_);
    settings().submit_until = emulated::submit_until;
}

std::vector<std::string> StandIn::complaints(Leftovers leftovers) const {
    if (leftovers == Leftovers::are_ended) forget_all_();
    return std::exchange(*complaints_(), {});
}

}  // namespace trireme
