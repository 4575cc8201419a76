// The NCCL interface of a program that was built without
// nccl.h. find_nccl() finds none, so nothing else is called.
#include "trireme/comm/nccl.hpp"

namespace trireme::comm {

NcclSearch find_nccl(const std::vector<std::string>& /*names*/) {
    return {.complaint = "this program was built without NCCL; build it where nccl.h is found"};
}

std::unique_ptr<Communicator> nccl_group(NcclWiring /*wiring*/, device::Patience /*patience*/) {
    throw ResourceError(find_nccl().complaint);
}

}  // namespace trireme::comm
