#include "comm/mpi/mpi_node_memory.hpp"

#include <atomic>
#include <exception>
#include <filesystem>

#include "comm/mpi/check_mpi.hpp"
#include "comm/mpi/groups.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {

MpiNodeMemory::MpiNodeMemory(const std::vector<int>& ranks, std::unique_ptr<Communicator> group,
                             const device::Patience& patience)
    : group_(std::move(group)),
      comm_(create_group(MPI_COMM_WORLD, ranks, "node memory", patience)),
      exceptions_(std::uncaught_exceptions()) {}

// Freeing a window waits for all its ranks. If an exception ends this rank, the job is about to be aborted and
// the others may never come.
MpiNodeMemory::~MpiNodeMemory() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized != 0 || std::uncaught_exceptions() > exceptions_) return;
    give_back();
    MPI_Comm_free(&comm_);
}

// Open MPI and MPICH both place the window in /dev/shm.
std::optional<std::size_t> MpiNodeMemory::bytes_left() const {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space("/dev/shm", error);
    if (error || device::time_is_simulated()) return std::nullopt;
    return space.available;
}

// Writing to shared memory on a full file system raises a signal, so the free space is checked first.
void MpiNodeMemory::take(std::size_t bytes) {
    const auto left = bytes_left();
    if (left && *left < bytes) {
        throw ResourceError(cat("the ranks of a node are to share ", bytes / 1'000'000,
                                " MB, and /dev/shm has ", *left / 1'000'000,
                                " MB left; make it larger, or use --move stop"));
    }
    void* own = nullptr;
    const auto own_bytes = static_cast<MPI_Aint>(group_->rank() == 0 ? bytes : 0);
    check_mpi(MPI_Win_allocate_shared(own_bytes, 1, MPI_INFO_NULL, comm_, &own, &window_),
              "MPI_Win_allocate_shared");
    MPI_Aint of_first = 0;
    int unit = 0;
    check_mpi(MPI_Win_shared_query(window_, 0, &of_first, &unit, &data_), "MPI_Win_shared_query");
}

void MpiNodeMemory::give_back() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
    data_ = nullptr;
}

// By the MPI standard, a message orders no other memory accesses. The fences do what MPI_Win_sync does, which
// the simulator lacks.
void MpiNodeMemory::settle() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    barrier(*group_);
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace trireme::comm
