#include "ranks/gpu_comm/gpu_group.hpp"

#include "emulated_gpu/queue.hpp"

namespace trireme {
namespace {

// An MPI group that lives until the program ends. A failed test leaves messages that no rank receives. If MPI
// freed their communicator, a later group could get the same context id and receive them.
class KeptGroup final : public comm::Communicator {
public:
    KeptGroup(const std::string& name, device::WaitPolicy wait_policy)
        : comm::Communicator(wait_policy), kept_(keep(name, wait_policy)) {}

    int rank() const override { return kept_.rank(); }
    int size() const override { return kept_.size(); }
    const std::string& name() const override { return kept_.name(); }
    RequestId start_send(device::ConstTensor tensor, int peer, comm::Label label) override {
        return kept_.start_send(tensor, peer, label);
    }
    RequestId start_receive(device::Tensor tensor, int peer, comm::Label label) override {
        return kept_.start_receive(tensor, peer, label);
    }
    bool is_done(RequestId id) override { return kept_.is_done(id); }
    std::optional<int> probe_sender() override { return kept_.probe_sender(); }
    void progress() override { kept_.progress(); }

protected:
    std::string describe(RequestId id) const override { return cat("message ", id); }

private:
    static comm::Communicator& keep(const std::string& name, device::WaitPolicy wait_policy) {
        static std::vector<std::unique_ptr<comm::Communicator>> all;
        return *all.emplace_back(std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, name, wait_policy));
    }

    comm::Communicator& kept_;
};

}  // namespace

OwnGpu::OwnGpu() {
    progress_engine.add({.progress = emulated::advance_gpu, .abort = [] {}});
}

std::unique_ptr<comm::Communicator> OwnGpu::group(Way way, const std::string& name, device::WaitPolicy wanted) {
    auto ranks = std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, name, wanted);
    if (way == Way::nccl) return nccl(name, comm::make_all_pairs(ranks->size()), wanted);
    return make_staged_group(std::move(ranks), queue, progress_engine, wanted);
}

std::unique_ptr<comm::Communicator> OwnGpu::nccl(const std::string& name, std::vector<comm::RankPair> pairs,
                                                 device::WaitPolicy wanted) {
    const auto by_mpi = [&](const std::string& of) { return std::make_unique<KeptGroup>(of, wait_policy()); };
    return comm::make_nccl_group({.library = comm::find_nccl(StandIn::path()).library,
                                  .ranks = by_mpi(name),
                                  .signals = by_mpi(name + "'s signals"),
                                  .pairs = std::move(pairs),
                                  .queue = queue,
                                  .progress_engine = progress_engine},
                                 wanted);
}

// Ends the group before the barrier, because the emulated GPU makes no progress while its rank is in one.
void GpuGroups::TearDown() {
    group_.reset();
    EXPECT_EQ(gpu_.stand_in.complaints(), std::vector<std::string>());
    MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace trireme
