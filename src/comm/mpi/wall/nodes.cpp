#include "comm/mpi/nodes.hpp"

#include "comm/mpi/check_in.hpp"
#include "comm/mpi/check_mpi.hpp"

namespace trireme {

std::vector<int> node_of_each(int rank, int size, const Patience& patience) {
    check_in_all(MPI_COMM_WORLD, "node", patience);
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
    int first = rank;
    check_mpi(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");
    check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
    std::vector<int> all(static_cast<std::size_t>(size));
    check_mpi(MPI_Allgather(&first, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
    return all;
}

double copied_bytes_per_second() { return 0; }

}  // namespace trireme
