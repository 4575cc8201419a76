#include "ranks/gpu_comm/gpu_group.hpp"

#include "emulated_gpu/queue.hpp"

namespace trireme {

OwnGpu::OwnGpu() {
    postman.add({.go_on = emulated::let_gpu_go_on, .abandon = [] {}});
}

std::unique_ptr<Communicator> OwnGpu::group(Way way, const std::string& name, Patience wanted) {
    auto ranks = std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, name, wanted);
    if (way == Way::staged) return staged_group(std::move(ranks), queue, postman, wanted);
    auto pairs = every_pair_of(ranks->size());
    return nccl_group(
        {.library = find_nccl(StandIn::path()).library,
         .ranks = std::move(ranks),
         .signals = std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, name + "'s signals", wanted),
         .pairs = std::move(pairs),
         .queue = queue,
         .postman = postman},
        wanted);
}

// The emulated GPU does nothing while this rank stands in a barrier.
void GpuGroups::TearDown() {
    group_.reset();
    EXPECT_EQ(gpu_.stand_in.complaints(), std::vector<std::string>());
    MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace trireme
