#include "ranks/comm/live_handles.hpp"

#include <mpi.h>

namespace {

int live = 0;  // global, because the functions of the profiling interface have no state

int counted(int code, int change) {
    live += change;
    return code;
}

}  // namespace

extern "C" {

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) { return counted(PMPI_Comm_dup(comm, copy), 1); }
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
    return counted(PMPI_Comm_create_group(comm, group, tag, made), 1);
}
int MPI_Comm_free(MPI_Comm* comm) { return counted(PMPI_Comm_free(comm), -1); }
int MPI_Comm_group(MPI_Comm comm, MPI_Group* group) { return counted(PMPI_Comm_group(comm, group), 1); }
int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group* made) {
    return counted(PMPI_Group_incl(group, count, ranks, made), 1);
}
int MPI_Group_free(MPI_Group* group) { return counted(PMPI_Group_free(group), -1); }

}  // extern "C"

namespace trireme::comm {

int live_handles() { return live; }

}  // namespace trireme::comm
