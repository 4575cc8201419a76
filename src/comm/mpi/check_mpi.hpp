// Every MPI call goes through here.
#pragma once

#include <mpi.h>

#include "trireme/base/error.hpp"

namespace trireme {

// Throws ResourceError with MPI's own words if `code` is not success.
void check_mpi(int code, const char* call, Where where = Where::here());

}  // namespace trireme
