#include "ranks/freed/mpi_counts.hpp"

#include <mpi.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace {

using trireme::validation::MpiCounts;

// Global, because the functions of the profiling interface have no state.
MpiCounts counts;
int live_handles = 0;
std::set<std::string>* named_files = nullptr;  // never freed: MPI may be called while the program ends

std::size_t count_bytes(int count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

int count_made(int code) {
    ++live_handles;
    counts.live_handles.push_back(live_handles);
    return code;
}

int count_freed(int code) {
    --live_handles;
    return code;
}

}  // namespace

extern "C" {

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    counts.sent_bytes += count_bytes(count, type);
    return PMPI_Send(buffer, count, type, destination, tag, comm);
}
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
              MPI_Request* request) {
    counts.sent_bytes += count_bytes(count, type);
    return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}
int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
    counts.received_bytes += count_bytes(count, type);
    return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    counts.received_bytes += count_bytes(count, type);
    return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Allgather(const void* own, int own_count, MPI_Datatype own_type, void* all, int count,
                  MPI_Datatype type, MPI_Comm comm) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    counts.sent_bytes += count_bytes(own_count, own_type);
    counts.received_bytes += static_cast<std::size_t>(size) * count_bytes(count, type);
    return PMPI_Allgather(own, own_count, own_type, all, count, type, comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) { return count_made(PMPI_Comm_dup(comm, copy)); }
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
    counts.shared_files.push_back(trireme::validation::count_shared_files());
    return count_made(PMPI_Comm_create_group(comm, group, tag, made));
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    return count_made(PMPI_Comm_split_type(comm, type, key, info, made));
}
int MPI_Comm_free(MPI_Comm* comm) { return count_freed(PMPI_Comm_free(comm)); }
int MPI_Comm_group(MPI_Comm comm, MPI_Group* group) { return count_made(PMPI_Comm_group(comm, group)); }
int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group* made) {
    return count_made(PMPI_Group_incl(group, count, ranks, made));
}
int MPI_Group_free(MPI_Group* group) { return count_freed(PMPI_Group_free(group)); }

}  // extern "C"

namespace trireme::validation {

void reset_mpi_counts() { counts = {}; }

const MpiCounts& mpi_counts() { return counts; }

int count_shared_files() {
    if (named_files == nullptr) named_files = new std::set<std::string>;
    int unnamed_files = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        const std::size_t begin = line.find("/dev/shm/");
        if (begin == std::string::npos) continue;
        if (line.ends_with(" (deleted)")) {
            ++unnamed_files;
        } else {
            named_files->insert(line.substr(begin));
        }
    }
    std::erase_if(*named_files, [](const std::string& path) { return !std::filesystem::exists(path); });
    return static_cast<int>(named_files->size()) + unnamed_files;
}

}  // namespace trireme::validation
