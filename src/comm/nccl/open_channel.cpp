#include "comm/nccl/open_channel.hpp"

#include <array>

#include "trireme/device/buffer.hpp"

namespace trireme {
namespace {

// The sender makes it and tells the other end.
ncclUniqueId agreed_id(const NcclLibrary& library, Communicator& ranks, const ChannelEnds& ends) {
    ncclUniqueId id{};
    constexpr std::size_t words = sizeof id / sizeof(std::int64_t);
    const Tensor view{&id, DType::i64, 1, words, words};
    if (ends.is_sender()) library.check(library.calls().get_unique_id(&id), "ncclGetUniqueId");
    ranks.wait(
        std::array{ends.is_sender() ? ranks.start_send(view, ends.to) : ranks.start_receive(view, ends.from)});
    return id;
}

void wait_until_ready(NcclChannel& channel, const Patience& patience, const char* what) {
    wait_until([&] { return channel.is_ready(); }, patience,
               [&] { return cat("rank ", channel.ends().peer(), " to ", what, " ", channel.name()); });
}

}  // namespace

std::unique_ptr<NcclChannel> open_channel(const NcclLibrary& library, Communicator& ranks,
                                          const ChannelEnds& ends, const Patience& patience) {
    auto channel = std::make_unique<NcclChannel>(library, ends, agreed_id(library, ranks, ends));
    wait_until_ready(*channel, patience, "open");
    const Buffer first(1, Place::gpu);
    GpuMoment over;
    channel->start(first.data(), first.bytes());
    wait_until_ready(*channel, patience, "connect");
    channel->queue().mark(over);
    wait_until([&] { return channel->is_ready() && over.is_over(); }, patience,
               [&] { return cat("the first byte through ", channel->name()); });
    return channel;
}

void close_channel(NcclChannel& channel, const Patience& patience) {
    wait_until_ready(channel, patience, "close");
    channel.close();
}

}  // namespace trireme
