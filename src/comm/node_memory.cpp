#include "trireme/comm/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

constexpr const char* folder = "/dev/shm";

std::string describe_failure(const char* action) {
    return cat("the ranks of this node cannot share memory: ", action, ": ", std::strerror(errno));
}

}  // namespace

NodeMemory::NodeMemory(std::unique_ptr<Communicator> group) : group_(std::move(group)) {}

NodeMemory::~NodeMemory() { unmap(); }

std::optional<std::size_t> NodeMemory::free_bytes() const {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(folder, error);
    if (error || device::time_is_simulated()) return std::nullopt;
    return space.available;
}

void NodeMemory::allocate(std::size_t bytes) {
    const auto available_bytes = free_bytes();
    if (available_bytes && *available_bytes < bytes) {
        throw ResourceError(cat("the ranks of this node need ", bytes / 1'000'000,
                                " MB of shared memory, but /dev/shm has only ", *available_bytes / 1'000'000,
                                " MB left; enlarge /dev/shm"));
    }
    map(bytes);
    if (group_->rank() == 0 && !reserve(0, bytes)) throw ResourceError(describe_failure("posix_fallocate"));
    synchronize();
}

// The first rank makes a file that never has a name, so that nothing remains of it however the job ends. The
// other ranks open the file by the entry of the first rank's descriptor in /proc.
void NodeMemory::map(std::size_t bytes) {
    std::string failure;
    std::string path;
    if (group_->rank() == 0) {
        file_ = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(bytes)) != 0)
            failure = describe_failure("a file in /dev/shm");
        path = cat("/proc/", ::getpid(), "/fd/", file_);
    }
    path = all_gather(*group_, failure.empty() ? path : std::string()).front();
    if (group_->rank() != 0 && !path.empty()) file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (failure.empty() && file_ < 0) failure = describe_failure("the file of the first rank");
    if (failure.empty() && bytes > 0) {
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (memory == MAP_FAILED) {
            failure = describe_failure("mmap");
        } else {
            data_ = static_cast<std::byte*>(memory);
            bytes_ = bytes;
        }
    }
    for (const std::string& each : all_gather(*group_, failure))
        if (!each.empty()) throw ResourceError(each);
}

// Writing to memory that a full file system cannot provide raises a signal (SIGBUS).
bool NodeMemory::reserve(std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return true;
    errno = ::posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    return errno == 0;
}

void NodeMemory::release() {
    synchronize();
    unmap();
}

void NodeMemory::unmap() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    if (file_ >= 0) ::close(file_);
    data_ = nullptr;
    bytes_ = 0;
    file_ = -1;
}

// By the MPI standard, messages do not order other memory accesses.
void NodeMemory::synchronize() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    barrier(*group_);
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace trireme::comm
