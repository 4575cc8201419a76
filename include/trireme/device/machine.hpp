// The machine below a rank, as the system tells.
#pragma once

#include <cstddef>
#include <string>

namespace trireme {

std::size_t peak_resident_bytes();  // of this process since it began (VmHWM); 0 where the system does not tell
std::string processor_name();       // "Intel(R) Xeon(R) ..."; "unknown processor" where it does not tell
int usable_cores();                 // that this process may run on

}  // namespace trireme
