// NVIDIA's library that carries messages from GPU to GPU, looked for when the program runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace trireme {

class NcclLibrary;  // src/comm/nccl/library.hpp

struct NcclSearch {
    std::shared_ptr<const NcclLibrary> library = {};  // none: see complaint
    int version = 0;                                  // as NCCL counts: 22809
    std::string complaint = {};                       // "NCCL 2.16.2 is older than 2.18, which is needed"
};

// The first of these names that the system finds.
NcclSearch find_nccl(const std::vector<std::string>& names = {"libnccl.so.2"});

std::string text_of_nccl_version(int version);  // "2.28.9"

}  // namespace trireme
