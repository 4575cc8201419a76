#include "trireme/comm/blank_memory.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

BlankMemory::BlankMemory(std::size_t bytes) : bytes_(bytes), data_(nullptr) {
    throw BugError("messages that carry nothing are for simulated time");
}

BlankMemory::~BlankMemory() = default;

}  // namespace trireme
