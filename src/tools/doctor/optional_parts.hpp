// What a run may do without, and where it would come from.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace trireme::doctor {

// `search_path` is PATH, `own_folder` where this program lies, `matrices` the library of matrix products, `mpi`
// the MPI library that this program runs on ("Open MPI v4.1.4"). Packages are those of jobs/install.sh.
std::vector<OptionalPart> optional_parts(const std::string& search_path, const std::string& own_folder,
                                         const std::string& matrices, const std::string& mpi);

}  // namespace trireme::doctor
