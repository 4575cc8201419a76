#include "ranks/gpu_comm/gpu_group.hpp"

#include "emulated_gpu/queue.hpp"

namespace trireme {
namespace {

// An MPI group that lives until the program ends. A failed test leaves messages that no rank receives. If MPI
// freed their communicator, a later group could get the same context id and receive them.
class KeptGroup final : public comm::Communicator {
public:
    KeptGroup(const std::string& name, device::Patience patience)
        : comm::Communicator(patience), kept_(keep(name, patience)) {}

    int rank() const override { return kept_.rank(); }
    int size() const override { return kept_.size(); }
    const std::string& name() const override { return kept_.name(); }
    Ticket start_send(device::ConstTensor tensor, int peer, comm::Label label) override {
        return kept_.start_send(tensor, peer, label);
    }
    Ticket start_receive(device::Tensor tensor, int peer, comm::Label label) override {
        return kept_.start_receive(tensor, peer, label);
    }
    bool is_done(Ticket ticket) override { return kept_.is_done(ticket); }
    std::optional<int> unasked_sender() override { return kept_.unasked_sender(); }
    void progress() override { kept_.progress(); }

protected:
    std::string describe(Ticket ticket) const override { return cat("message ", ticket); }

private:
    static comm::Communicator& keep(const std::string& name, device::Patience patience) {
        static std::vector<std::unique_ptr<comm::Communicator>> all;
        return *all.emplace_back(std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, name, patience));
    }

    comm::Communicator& kept_;
};

}  // namespace

OwnGpu::OwnGpu() {
    postman.add({.go_on = emulated::let_gpu_go_on, .abandon = [] {}});
}

std::unique_ptr<comm::Communicator> OwnGpu::group(Way way, const std::string& name, device::Patience wanted) {
    auto ranks = std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, name, wanted);
    if (way == Way::nccl) return nccl(name, comm::every_pair_of(ranks->size()), wanted);
    return staged_group(std::move(ranks), queue, postman, wanted);
}

std::unique_ptr<comm::Communicator> OwnGpu::nccl(const std::string& name, std::vector<comm::RankPair> pairs,
                                                 device::Patience wanted) {
    const auto by_mpi = [&](const std::string& of) { return std::make_unique<KeptGroup>(of, patience()); };
    return comm::nccl_group({.library = comm::find_nccl(StandIn::path()).library,
                             .ranks = by_mpi(name),
                             .signals = by_mpi(name + "'s signals"),
                             .pairs = std::move(pairs),
                             .queue = queue,
                             .postman = postman},
                            wanted);
}

// Ends the group before the barrier, because the emulated GPU makes no progress while its rank is in one.
void GpuGroups::TearDown() {
    group_.reset();
    EXPECT_EQ(gpu_.stand_in.complaints(), std::vector<std::string>());
    MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace trireme
