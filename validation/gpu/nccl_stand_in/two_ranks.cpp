#include "gpu/nccl_stand_in/two_ranks.hpp"

#include "emulated_gpu/queue.hpp"

namespace trireme {

NcclCalls::NcclCalls() {
    library_.load_symbol("ncclGetVersion", get_version);
    library_.load_symbol("ncclGetUniqueId", get_unique_id);
    library_.load_symbol("ncclCommInitRankConfig", open);
    library_.load_symbol("ncclCommGetAsyncError", get_state);
    library_.load_symbol("ncclSend", send);
    library_.load_symbol("ncclRecv", receive);
    library_.load_symbol("ncclGroupStart", begin_group);
    library_.load_symbol("ncclGroupEnd", end_group);
    library_.load_symbol("ncclCommFinalize", finalize);
    library_.load_symbol("ncclCommDestroy", destroy);
    library_.load_symbol("ncclCommAbort", abort);
    library_.load_symbol("ncclGetLastError", last_error);
}

ncclUniqueId TwoRanks::new_id() const {
    ncclUniqueId id{};
    EXPECT_EQ(nccl_.get_unique_id(&id), ncclSuccess);
    return id;
}

ncclComm_t TwoRanks::begin_to_open(const ncclUniqueId& id, int rank) const {
    ncclComm_t made = nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    nccl_.open(&made, 2, id, rank, &config);
    return made;
}

void TwoRanks::open_both() {
    const ncclUniqueId id = new_id();
    ranks_ = {begin_to_open(id, 0), begin_to_open(id, 1)};
    for (const int rank : {0, 1}) ASSERT_EQ(poll_state(rank), ncclSuccess);
    for (std::size_t i = 0; i < sent_.size(); ++i) sent_[i] = static_cast<std::byte>(i + 1);
}

// Ends operations that would never finish, because they keep the queues from being destroyed.
void TwoRanks::TearDown() {
    for (const ncclComm_t rank : ranks_) nccl_.abort(rank);
    stand_in_.complaints();
    for (device::GpuQueue& queue : queues_) queue.wait();
}

ncclResult_t TwoRanks::poll_state(int rank) {
    ncclResult_t state = ncclInProgress;
    for (int polls = 0; polls < 100 && state == ncclInProgress; ++polls) {
        const ncclResult_t answer = nccl_.get_state(ranks_[static_cast<std::size_t>(rank)], &state);
        if (answer != ncclSuccess) return answer;
    }
    return state;
}

void TwoRanks::poll(int times) {
    for (int i = 0; i < times; ++i) {
        emulated::advance_gpu();
        for (const int rank : {0, 1}) {
            ncclResult_t state = ncclSuccess;
            nccl_.get_state(ranks_[static_cast<std::size_t>(rank)], &state);
        }
    }
}

bool TwoRanks::is_over(const device::GpuEvent& moment, int polls) {
    for (int i = 0; i < polls; ++i)
        if (moment.is_over()) return true;
    return false;
}

ncclResult_t TwoRanks::send(int from, std::size_t bytes, ncclDataType_t type) {
    const auto own = static_cast<std::size_t>(from);
    return nccl_.send(sent_.data(), bytes, type, 1 - from, ranks_[own],
                      static_cast<cudaStream_t>(queues_[own].native()));
}

ncclResult_t TwoRanks::receive(int to, std::size_t bytes, ncclDataType_t type) {
    const auto own = static_cast<std::size_t>(to);
    return nccl_.receive(received_.data(), bytes, type, 1 - to, ranks_[own],
                         static_cast<cudaStream_t>(queues_[own].native()));
}

device::GpuEvent TwoRanks::mark(int rank) {
    device::GpuEvent moment;
    queues_[static_cast<std::size_t>(rank)].mark(moment);
    return moment;
}

std::string TwoRanks::complaints() {
    std::string all;
    for (const std::string& complaint : stand_in_.complaints(StandIn::Leftovers::are_left))
        all += (all.empty() ? "" : "\n") + complaint;
    return all;
}

}  // namespace trireme
