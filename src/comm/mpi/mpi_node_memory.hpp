// Node memory as a shared MPI window. The first rank allocates all memory of the window.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "trireme/comm/node_memory.hpp"

namespace trireme::comm {

class MpiNodeMemory final : public NodeMemory {
public:
    // Collective over `ranks`. These are distinct ranks of the job on one node, in any order, including this
    // rank. They are also the members of `group`, in the same order.
    MpiNodeMemory(const std::vector<int>& ranks, std::unique_ptr<Communicator> group,
                  const device::WaitPolicy& wait_policy);
    MpiNodeMemory(const MpiNodeMemory&) = delete;
    MpiNodeMemory& operator=(const MpiNodeMemory&) = delete;
    ~MpiNodeMemory() override;

    void allocate(std::size_t bytes) override;
    std::byte* data() const override { return static_cast<std::byte*>(data_); }
    void release() override;
    std::optional<std::size_t> free_bytes() const override;
    void synchronize() override;
    Communicator& group() override { return *group_; }

private:
    std::unique_ptr<Communicator> group_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    void* data_ = nullptr;
    int exceptions_;  // number of uncaught exceptions at construction
};

}  // namespace trireme::comm
