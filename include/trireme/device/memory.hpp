// What the process holds, as the system counts it.
#pragma once

#include <cstddef>

namespace trireme {

std::size_t peak_resident_bytes();  // since the process began (VmHWM); 0 where the system does not tell

}  // namespace trireme
