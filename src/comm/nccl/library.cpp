#include "comm/nccl/library.hpp"

#include "trireme/base/error.hpp"
#include "trireme/comm/nccl.hpp"

namespace trireme::comm {

NcclLibrary::NcclLibrary(const std::vector<std::string>& names) : library_(names, "sending from GPU to GPU") {
    library_.load_symbol("ncclGetErrorString", calls_.to_string);
    library_.load_symbol("ncclGetVersion", calls_.get_version);
    require_success(calls_.get_version(&version_), "ncclGetVersion");
    if (version_ < min_version) {
        throw ResourceError(cat("NCCL ", nccl_version_to_string(version_),
                                " is too old; load the module of NCCL ", min_version / 10'000, ".",
                                min_version / 100 % 100, " or later"));
    }
    library_.load_symbol("ncclGetUniqueId", calls_.get_unique_id);
    library_.load_symbol("ncclCommInitRankConfig", calls_.open);
    library_.load_symbol("ncclCommGetAsyncError", calls_.get_state);
    library_.load_symbol("ncclSend", calls_.send);
    library_.load_symbol("ncclRecv", calls_.receive);
    library_.load_symbol("ncclCommFinalize", calls_.finalize);
    library_.load_symbol("ncclCommDestroy", calls_.destroy);
    library_.load_symbol("ncclCommAbort", calls_.abort);
    library_.load_symbol("ncclGetLastError", calls_.last_error);
}

std::string NcclLibrary::describe_error(ncclResult_t result, ncclComm_t comm) const {
    // If the constructor fails early, it has not loaded `last_error`.
    const char* const last = calls_.last_error == nullptr ? nullptr : calls_.last_error(comm);
    const bool says_more = last != nullptr && *last != '\0';
    return says_more ? cat(calls_.to_string(result), " (", last, ")") : calls_.to_string(result);
}

void NcclLibrary::require_success(ncclResult_t result, const char* call) const {
    if (result != ncclSuccess) throw ResourceError(cat(call, " failed: ", describe_error(result, nullptr)));
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
