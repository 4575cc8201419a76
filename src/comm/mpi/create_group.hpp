// Making the MPI communicator of some ranks.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "trireme/device/wait.hpp"

namespace trireme {

// Collective over `ranks` of `parent` alone: distinct, in the order that they have in the new one, this one
// among them. `name` is for messages, and `patience` for ranks that do not call it. The caller frees the
// communicator.
MPI_Comm create_group(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
                      const Patience& patience);

}  // namespace trireme
