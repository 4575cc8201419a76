#include "comm/mpi/groups.hpp"

#include <algorithm>

#include "comm/mpi/check_mpi.hpp"

namespace trireme::comm {
namespace {

void require_valid_ranks(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name) {
    int own_rank = 0;
    int size = 0;
    check_mpi(MPI_Comm_rank(parent, &own_rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(parent, &size), "MPI_Comm_size");
    std::vector<int> ascending = ranks;
    std::ranges::sort(ascending);
    const bool are_distinct = std::ranges::adjacent_find(ascending) == ascending.end();
    const bool are_in_range = !ranks.empty() && ascending.front() >= 0 && ascending.back() < size;
    if (are_distinct && are_in_range && std::ranges::binary_search(ascending, own_rank)) return;
    std::string list;
    for (const int rank : ranks) list += cat(" ", rank);
    throw BugError(cat("rank ", own_rank, " of ", size, " cannot create the ", name, " group of ranks", list,
                       "; these ranks must exist, differ, and include rank ", own_rank));
}

}  // namespace

MPI_Comm create_group(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
                      const device::WaitPolicy& wait_policy) {
    require_valid_ranks(parent, ranks, name);
    wait_for_ranks(parent, ranks, name, wait_policy);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    constexpr int tag = 0;  // one tag suffices, because all ranks create groups in the same order
    check_mpi(MPI_Comm_group(parent, &all), "MPI_Comm_group");
    check_mpi(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &members), "MPI_Group_incl");
    check_mpi(MPI_Comm_create_group(parent, members, tag, &comm), "MPI_Comm_create_group");
    check_mpi(MPI_Group_free(&members), "MPI_Group_free");
    check_mpi(MPI_Group_free(&all), "MPI_Group_free");
    return comm;
}

}  // namespace trireme::comm
