#include "comm/nccl/channel.hpp"

#include <array>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::comm {
namespace {

constexpr int max_thread_blocks = 4;  // per channel; kernels use the other multiprocessors (an H100 has 132)

ncclConfig_t make_config() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.maxCTAs = max_thread_blocks;
    return config;
}

// Called at both ends of the channel. The sender creates the id of the channel and sends the id over
// `mpi_group` to the receiver.
ncclUniqueId exchange_id(const NcclLibrary& library, Communicator& mpi_group, const ChannelEnds& ends) {
    ncclUniqueId id{};
    constexpr std::size_t word_count = sizeof id / sizeof(std::int64_t);
    const device::Tensor view{&id, device::DType::i64, 1, word_count, word_count};
    if (ends.is_sender()) library.require_success(library.calls().get_unique_id(&id), "ncclGetUniqueId");
    mpi_group.wait(std::array{ends.is_sender() ? mpi_group.start_send(view, ends.receiver)
                                               : mpi_group.start_receive(view, ends.sender)});
    return id;
}

void wait_until_ready(NcclChannel& channel, const device::WaitPolicy& wait_policy, const char* action) {
    wait_until([&] { return channel.is_ready(); }, wait_policy,
               [&] { return cat("rank ", channel.ends().peer(), " to ", action, " ", channel.name()); });
}

}  // namespace

// An NCCL thread may write to comm_ until the communicator is ready or aborted. Therefore the destructor must
// abort the communicator even if the body of this constructor throws. The destructor runs then, because the
// delegation to another constructor has completed the object.
NcclChannel::NcclChannel(const NcclLibrary& library, ChannelEnds ends, const ncclUniqueId& id)
    : NcclChannel(library, std::move(ends)) {
    ncclConfig_t config = make_config();
    require_success(library_.calls().open(&comm_, 2, id, ends_.is_sender() ? 0 : 1, &config),
                    "ncclCommInitRankConfig");
}

std::string NcclChannel::name() const {
    return cat("the NCCL channel from rank ", ends_.sender, " to rank ", ends_.receiver, " of the ",
               ends_.group, " group");
}

bool NcclChannel::is_ready() {
    if (comm_ == nullptr) return false;
    ncclResult_t state = ncclSuccess;
    require_success(library_.calls().get_state(comm_, &state), "ncclCommGetAsyncError");
    require_success(state, "an asynchronous operation");
    return state == ncclSuccess;
}

void NcclChannel::start(void* memory, std::size_t bytes) {
    if (comm_ == nullptr) throw ResourceError(cat(name(), " was aborted after an earlier error"));
    const auto stream = static_cast<cudaStream_t>(queue_.native());
    const int peer = ends_.is_sender() ? 1 : 0;
    if (ends_.is_sender()) {
        require_success(library_.calls().send(memory, bytes, ncclInt8, peer, comm_, stream), "ncclSend");
    } else {
        require_success(library_.calls().receive(memory, bytes, ncclInt8, peer, comm_, stream), "ncclRecv");
    }
}

void NcclChannel::begin_to_close() {
    if (comm_ != nullptr) require_success(library_.calls().finalize(comm_), "ncclCommFinalize");
}

void NcclChannel::close() {
    if (comm_ != nullptr)
        require_success(library_.calls().destroy(std::exchange(comm_, nullptr)), "ncclCommDestroy");
}

void NcclChannel::abort() noexcept {
    if (comm_ != nullptr) library_.calls().abort(comm_);
    comm_ = nullptr;
}

void NcclChannel::require_success(ncclResult_t result, const char* call) {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw ResourceError(cat(name(), " failed at rank ", ends_.own_rank, ": ", call, ": ",
                            library_.describe_error(result, comm_),
                            "; start the run again with --resume, and with NCCL_DEBUG=WARN for details"));
}

std::unique_ptr<NcclChannel> open_channel(const NcclLibrary& library, Communicator& mpi_group,
                                          const ChannelEnds& ends, const device::WaitPolicy& wait_policy) {
    auto channel = std::make_unique<NcclChannel>(library, ends, exchange_id(library, mpi_group, ends));
    wait_until_ready(*channel, wait_policy, "open");
    const device::Buffer byte(1, device::MemorySpace::gpu);
    device::GpuEvent byte_sent;
    channel->start(byte.data(), byte.bytes());
    wait_until_ready(*channel, wait_policy, "connect");
    channel->queue().mark(byte_sent);
    wait_until([&] { return channel->is_ready() && byte_sent.is_over(); }, wait_policy,
               [&] { return cat("the first byte through ", channel->name()); });
    return channel;
}

void close_channel(NcclChannel& channel, const device::WaitPolicy& wait_policy) {
    wait_until_ready(channel, wait_policy, "close");
    channel.close();
}

}  // namespace trireme::comm
