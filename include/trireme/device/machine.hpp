// The machine below a rank, as the system tells.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme {

std::size_t peak_resident_bytes();  // of this process since it began (VmHWM); 0 where the system does not tell
std::size_t resident_bytes();       // of this process now (VmRSS); 0 where the system does not tell
// Peak of the resident memory without mapped files, such as the code of libraries.
std::size_t peak_private_bytes();
std::string processor_name();  // "Intel(R) Xeon(R) ..."; "unknown processor" where it does not tell
// Threads that a rank may have: the cores of the machine, and 64 on a smaller one, where tests and trials have
// more threads than cores. Beyond that threads only wait for each other.
int most_threads();
std::vector<int> usable_cores();  // the numbers of those that this process may run on; at least one

}  // namespace trireme
