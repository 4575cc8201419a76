// The NCCL interface of a program that was built without nccl.h.
// find_nccl() finds no library, so no other function is called.
#include "trireme/comm/nccl.hpp"

namespace trireme::comm {

NcclSearch find_nccl(const std::vector<std::string>& /*names*/) {
    return {.complaint = "this program was built without NCCL; build it where nccl.h is found"};
}

std::unique_ptr<Communicator> make_nccl_group(NcclGroupSpec /*spec*/, device::WaitPolicy /*wait_policy*/) {
    throw ResourceError(find_nccl().complaint);
}

}  // namespace trireme::comm
