#include "comm/mpi/groups.hpp"

#include <algorithm>

#include "comm/mpi/check_mpi.hpp"

namespace trireme::comm {
namespace {

void require_distinct_with_own(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name) {
    int own = 0;
    int size = 0;
    check_mpi(MPI_Comm_rank(parent, &own), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(parent, &size), "MPI_Comm_size");
    std::vector<int> ascending = ranks;
    std::ranges::sort(ascending);
    const bool is_distinct = std::ranges::adjacent_find(ascending) == ascending.end();
    const bool is_within = !ranks.empty() && ascending.front() >= 0 && ascending.back() < size;
    if (is_distinct && is_within && std::ranges::binary_search(ascending, own)) return;
    std::string list;
    for (const int rank : ranks) list += cat(" ", rank);
    throw BugError(cat("rank ", own, " of ", size, " cannot make the ", name, " group of ranks", list,
                       ": they must differ, exist, and include it"));
}

}  // namespace

MPI_Comm create_group(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
                      const device::Patience& patience) {
    require_distinct_with_own(parent, ranks, name);
    check_in(parent, ranks, name, patience);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    constexpr int tag = 0;  // one tag suffices, because all ranks create groups in the same order
    check_mpi(MPI_Comm_group(parent, &all), "MPI_Comm_group");
    check_mpi(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some), "MPI_Group_incl");
    check_mpi(MPI_Comm_create_group(parent, some, tag, &comm), "MPI_Comm_create_group");
    check_mpi(MPI_Group_free(&some), "MPI_Group_free");
    check_mpi(MPI_Group_free(&all), "MPI_Group_free");
    return comm;
}

}  // namespace trireme::comm
