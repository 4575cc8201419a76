// Converts error codes of MPI to exceptions.
#pragma once

#include <mpi.h>

#include <array>

#include "trireme/base/error.hpp"

namespace trireme::comm {

// Throws ResourceError with MPI's own message unless `code` is MPI_SUCCESS. `call` is the name of the MPI
// function.
inline void check_mpi(int code, const char* call, SourcePosition where = SourcePosition::here()) {
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw ResourceError(cat(call, " failed: ", std::string(text.data(), static_cast<std::size_t>(length))),
                        where);
}

}  // namespace trireme::comm
