#include "comm/nccl/signals.hpp"

namespace trireme::comm {
namespace {

constexpr std::size_t words = sizeof(Signal) / sizeof(std::int64_t);

}  // namespace

void Signals::tell(int peer, const Signal& signal) {
    while (!outgoing_.empty() && group_->is_done(outgoing_.front().ticket)) outgoing_.pop_front();
    Outgoing& own = outgoing_.emplace_back(Outgoing{.signal = signal, .ticket = 0});
    own.ticket =
        group_->start_send(device::ConstTensor{&own.signal, device::DType::i64, 1, words, words}, peer);
}

// A signal that has arrived is received by polling, because it is short.
void Signals::listen(const std::function<void(int peer, const Signal& signal)>& hear) {
    while (const std::optional<int> peer = group_->unasked_sender()) {
        Signal signal;
        const auto ticket =
            group_->start_receive(device::Tensor{&signal, device::DType::i64, 1, words, words}, *peer);
        while (!group_->is_done(ticket)) continue;
        hear(*peer, signal);
    }
    while (!outgoing_.empty() && group_->is_done(outgoing_.front().ticket)) outgoing_.pop_front();
}

}  // namespace trireme::comm
