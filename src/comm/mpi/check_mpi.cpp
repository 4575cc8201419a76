#include "comm/mpi/check_mpi.hpp"

#include <array>

namespace trireme {

void check_mpi(int code, const char* call, Where where) {
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw ResourceError(cat(call, " failed: ", std::string(text.data(), static_cast<std::size_t>(length))),
                        where);
}

}  // namespace trireme
