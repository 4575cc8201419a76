// Channels are opened before they are needed: NCCL makes a connection when the first message goes, and both
// ends wait for each other then.
#pragma once

#include <memory>

#include "comm/nccl/channel.hpp"
#include "trireme/comm/communicator.hpp"

namespace trireme {

// Point-to-point with the other end, over `ranks`. Opened, and one byte has gone through it. Throws
// ResourceError where it is not open in time, naming both.
std::unique_ptr<NcclChannel> open_channel(const NcclLibrary& library, Communicator& ranks,
                                          const ChannelEnds& ends, const Patience& patience);

// Of one that has begun to close: waits until all that was sent has come. Throws as open_channel().
void close_channel(NcclChannel& channel, const Patience& patience);

}  // namespace trireme
