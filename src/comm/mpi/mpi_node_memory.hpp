// Node memory as a shared MPI window, all of which the first rank allocates.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "trireme/comm/node_memory.hpp"

namespace trireme::comm {

class MpiNodeMemory final : public NodeMemory {
public:
    // Collective over `ranks` of the job, which are those of
    // `group`: ascending, on one node, including this one.
    MpiNodeMemory(const std::vector<int>& ranks, std::unique_ptr<Communicator> group,
                  const device::Patience& patience);
    MpiNodeMemory(const MpiNodeMemory&) = delete;
    MpiNodeMemory& operator=(const MpiNodeMemory&) = delete;
    ~MpiNodeMemory() override;

    void take(std::size_t bytes) override;
    std::byte* data() const override { return static_cast<std::byte*>(data_); }
    void give_back() override;
    std::optional<std::size_t> bytes_left() const override;
    void settle() override;
    Communicator& group() override { return *group_; }

private:
    std::unique_ptr<Communicator> group_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    void* data_ = nullptr;
    int exceptions_;  // number of uncaught exceptions in the constructor
};

}  // namespace trireme::comm
