// Loads NCCL at run time and finds the functions in NcclLibrary::Calls. The build needs only nccl.h.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "trireme/device/shared_library.hpp"

namespace trireme::comm {

class NcclLibrary {
public:
    static constexpr int min_version = NCCL_VERSION(2, 18, 0);

    struct Calls {
        decltype(&ncclGetVersion) get_version = nullptr;
        decltype(&ncclGetUniqueId) get_unique_id = nullptr;
        decltype(&ncclCommInitRankConfig) open = nullptr;
        decltype(&ncclCommGetAsyncError) get_state = nullptr;
        decltype(&ncclSend) send = nullptr;
        decltype(&ncclRecv) receive = nullptr;
        decltype(&ncclCommFinalize) finalize = nullptr;
        decltype(&ncclCommDestroy) destroy = nullptr;
        decltype(&ncclCommAbort) abort = nullptr;
        decltype(&ncclGetErrorString) to_string = nullptr;
        decltype(&ncclGetLastError) last_error = nullptr;
    };

    // Loads the first library of `names` that the system finds. Throws ResourceError if none is found, or if
    // the library is older than min_version.
    explicit NcclLibrary(const std::vector<std::string>& names);

    const Calls& calls() const { return calls_; }
    int version() const { return version_; }

    // Returns NCCL's description of an error, for example "unhandled system error (...)". `comm` may be null.
    std::string describe_error(ncclResult_t result, ncclComm_t comm) const;
    // Throws ResourceError unless `result` is ncclSuccess. `call` is the name of the NCCL function.
    void require_success(ncclResult_t result, const char* call) const;

private:
    device::SharedLibrary library_;
    Calls calls_;
    int version_ = 0;
};

}  // namespace trireme::comm
