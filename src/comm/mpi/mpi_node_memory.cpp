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
                             const device::WaitPolicy& wait_policy)
    : group_(std::move(group)),
      comm_(create_group(MPI_COMM_WORLD, ranks, "node memory", wait_policy)),
      exceptions_(std::uncaught_exceptions()) {}

// Freeing an MPI window waits for all its ranks. If an exception ends this rank, the job is about to be
// aborted, and the other ranks may never free the window. In that case nothing is freed.
MpiNodeMemory::~MpiNodeMemory() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized != 0 || std::uncaught_exceptions() > exceptions_) return;
    release();
    MPI_Comm_free(&comm_);
}

// Open MPI and MPICH both place the window in /dev/shm.
std::optional<std::size_t> MpiNodeMemory::free_bytes() const {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space("/dev/shm", error);
    if (error || device::time_is_simulated()) return std::nullopt;
    return space.available;
}

// Writing to shared memory on a full file system raises a signal (SIGBUS), so the free space is checked first.
void MpiNodeMemory::allocate(std::size_t bytes) {
    const auto available_bytes = free_bytes();
    if (available_bytes && *available_bytes < bytes) {
        throw ResourceError(cat("--move twins needs ", bytes / 1'000'000,
                                " MB that the ranks of this node share, but /dev/shm has ",
                                *available_bytes / 1'000'000,
                                " MB left; make /dev/shm larger, or use --move stop"));
    }
    void* own_memory = nullptr;
    const auto own_bytes = static_cast<MPI_Aint>(group_->rank() == 0 ? bytes : 0);
    check_mpi(MPI_Win_allocate_shared(own_bytes, 1, MPI_INFO_NULL, comm_, &own_memory, &window_),
              "MPI_Win_allocate_shared");
    MPI_Aint first_rank_bytes = 0;
    int displacement_unit = 0;
    check_mpi(MPI_Win_shared_query(window_, 0, &first_rank_bytes, &displacement_unit, &data_),
              "MPI_Win_shared_query");
}

void MpiNodeMemory::release() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
    data_ = nullptr;
}

// By the MPI standard, messages do not order other memory accesses. The fences replace MPI_Win_sync, which the
// simulator lacks.
void MpiNodeMemory::synchronize() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    barrier(*group_);
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace trireme::comm
