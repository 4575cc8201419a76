#include "trireme/comm/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

constexpr const char* folder = "/dev/shm";

std::string describe_failure(const std::string& name) {
    return cat("the ranks of this node cannot share memory: ", name, ": ", std::strerror(errno));
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

// The first rank makes a file, and removes its name when the other ranks have opened it.
void NodeMemory::map(std::size_t bytes) {
    std::string path;
    std::string failure;
    if (group_->rank() == 0) {
        path = cat(folder, "/trireme-XXXXXX");
        file_ = ::mkostemp(path.data(), O_CLOEXEC);
        if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(bytes)) != 0) failure = describe_failure(path);
        if (file_ < 0) path.clear();
    }
    path = all_gather(*group_, path).front();
    if (group_->rank() != 0 && !path.empty()) {
        file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (file_ < 0) failure = describe_failure(path);
    }
    if (failure.empty() && file_ >= 0 && bytes > 0) {
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (memory == MAP_FAILED) {
            failure = describe_failure("mmap");
        } else {
            data_ = static_cast<std::byte*>(memory);
            bytes_ = bytes;
        }
    }
    const std::vector<std::string> failures = all_gather(*group_, failure);
    if (group_->rank() == 0 && !path.empty()) ::unlink(path.c_str());
    for (const std::string& each : failures)
        if (!each.empty()) throw ResourceError(each);
}

// Writing to memory that a full file system cannot provide raises a signal (SIGBUS). A rank that is stopped and
// continued interrupts the call.
bool NodeMemory::reserve(std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return true;
    int error = EINTR;
    while (error == EINTR)
        error = ::posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    errno = error;
    return error == 0;
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
