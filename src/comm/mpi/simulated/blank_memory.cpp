#include "trireme/comm/blank_memory.hpp"

#include <smpi/smpi.h>

#include "trireme/base/error.hpp"

namespace trireme {

BlankMemory::BlankMemory(std::size_t bytes) : bytes_(bytes), data_(SMPI_SHARED_MALLOC(bytes)) {
    if (data_ == nullptr) throw ResourceError(cat("no ", bytes, " bytes for messages"));
}

BlankMemory::~BlankMemory() { SMPI_SHARED_FREE(data_); }

}  // namespace trireme
