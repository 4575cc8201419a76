#include "comm/nccl/library.hpp"

#include "trireme/base/error.hpp"
#include "trireme/comm/nccl.hpp"

namespace trireme::comm {

NcclLibrary::NcclLibrary(const std::vector<std::string>& names) : library_(names, "sending from GPU to GPU") {
    library_.find("ncclGetErrorString", calls_.to_string);
    library_.find("ncclGetVersion", calls_.get_version);
    check(calls_.get_version(&version_), "ncclGetVersion");
    if (version_ < oldest_version) {
        throw ResourceError(cat("NCCL ", text_of_nccl_version(version_), " is older than ",
                                oldest_version / 10'000, ".", oldest_version / 100 % 100,
                                ", which is needed; load a newer one's module"));
    }
    library_.find("ncclGetUniqueId", calls_.get_unique_id);
    library_.find("ncclCommInitRankConfig", calls_.open);
    library_.find("ncclCommGetAsyncError", calls_.get_state);
    library_.find("ncclSend", calls_.send);
    library_.find("ncclRecv", calls_.receive);
    library_.find("ncclCommFinalize", calls_.finalize);
    library_.find("ncclCommDestroy", calls_.destroy);
    library_.find("ncclCommAbort", calls_.abort);
    library_.find("ncclGetLastError", calls_.last_error);
}

std::string NcclLibrary::reason(ncclResult_t result, ncclComm_t comm) const {
    const char* const last = calls_.last_error == nullptr ? nullptr : calls_.last_error(comm);
    const bool says_more = last != nullptr && *last != '\0';
    return says_more ? cat(calls_.to_string(result), " (", last, ")") : calls_.to_string(result);
}

void NcclLibrary::check(ncclResult_t result, const char* call) const {
    if (result != ncclSuccess) throw ResourceError(cat(call, " failed: ", reason(result, nullptr)));
}

NcclSearch find_nccl(const std::vector<std::string>& names) {
    NcclSearch search;
    try {
        search.library = std::make_shared<const NcclLibrary>(names);
        search.version = search.library->version();
    } catch (const ResourceError& error) {
        search.complaint = error.what();
    }
    return search;
}

}  // namespace trireme::comm
