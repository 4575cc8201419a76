#include "comm/nccl/channel.hpp"

#include <array>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::comm {
namespace {

constexpr int most_blocks = 4;  // thread blocks; the other multiprocessors (of 132) keep computing

ncclConfig_t config() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.maxCTAs = most_blocks;
    return config;
}

// The sender creates the id and sends it to the other end.
ncclUniqueId agreed_id(const NcclLibrary& library, Communicator& ranks, const ChannelEnds& ends) {
    ncclUniqueId id{};
    constexpr std::size_t words = sizeof id / sizeof(std::int64_t);
    const device::Tensor view{&id, device::DType::i64, 1, words, words};
    if (ends.is_sender()) library.check(library.calls().get_unique_id(&id), "ncclGetUniqueId");
    ranks.wait(
        std::array{ends.is_sender() ? ranks.start_send(view, ends.to) : ranks.start_receive(view, ends.from)});
    return id;
}

void wait_until_ready(NcclChannel& channel, const device::Patience& patience, const char* what) {
    wait_until([&] { return channel.is_ready(); }, patience,
               [&] { return cat("rank ", channel.ends().peer(), " to ", what, " ", channel.name()); });
}

}  // namespace

// An NCCL thread may write to comm_ until the communicator is ready or aborted. The delegating constructor
// completes the object, so that the destructor aborts the communicator if this throws.
NcclChannel::NcclChannel(const NcclLibrary& library, ChannelEnds ends, const ncclUniqueId& id)
    : NcclChannel(library, std::move(ends)) {
    ncclConfig_t wanted = config();
    take(library_.calls().open(&comm_, 2, id, ends_.is_sender() ? 0 : 1, &wanted), "ncclCommInitRankConfig");
}

std::string NcclChannel::name() const {
    return cat("NCCL's channel from rank ", ends_.from, " to rank ", ends_.to, " of the ", ends_.group,
               " group");
}

bool NcclChannel::is_ready() {
    if (comm_ == nullptr) return false;
    ncclResult_t state = ncclSuccess;
    take(library_.calls().get_state(comm_, &state), "ncclCommGetAsyncError");
    take(state, "its work");
    return state == ncclSuccess;
}

void NcclChannel::start(void* memory, std::size_t bytes) {
    if (comm_ == nullptr) throw ResourceError(cat(name(), " was given up"));
    const auto stream = static_cast<cudaStream_t>(queue_.native());
    const int peer = ends_.is_sender() ? 1 : 0;
    if (ends_.is_sender()) {
        take(library_.calls().send(memory, bytes, ncclInt8, peer, comm_, stream), "ncclSend");
    } else {
        take(library_.calls().receive(memory, bytes, ncclInt8, peer, comm_, stream), "ncclRecv");
    }
}

void NcclChannel::begin_to_close() {
    if (comm_ != nullptr) take(library_.calls().finalize(comm_), "ncclCommFinalize");
}

void NcclChannel::close() {
    if (comm_ != nullptr) take(library_.calls().destroy(std::exchange(comm_, nullptr)), "ncclCommDestroy");
}

void NcclChannel::abort() noexcept {
    if (comm_ != nullptr) library_.calls().abort(comm_);
    comm_ = nullptr;
}

void NcclChannel::take(ncclResult_t result, const char* call) {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw ResourceError(cat("at rank ", ends_.own, ", ", name(), " failed, whose other end is rank ",
                            ends_.peer(), ": ", call, ": ", library_.reason(result, comm_),
                            "; NCCL_DEBUG=WARN says more, and start the run again with --resume"));
}

std::unique_ptr<NcclChannel> open_channel(const NcclLibrary& library, Communicator& ranks,
                                          const ChannelEnds& ends, const device::Patience& patience) {
    auto channel = std::make_unique<NcclChannel>(library, ends, agreed_id(library, ranks, ends));
    wait_until_ready(*channel, patience, "open");
    const device::Buffer first(1, device::MemorySpace::gpu);
    device::GpuMoment over;
    channel->start(first.data(), first.bytes());
    wait_until_ready(*channel, patience, "connect");
    channel->queue().mark(over);
    wait_until([&] { return channel->is_ready() && over.is_over(); }, patience,
               [&] { return cat("the first byte through ", channel->name()); });
    return channel;
}

void close_channel(NcclChannel& channel, const device::Patience& patience) {
    wait_until_ready(channel, patience, "close");
    channel.close();
}

}  // namespace trireme::comm
