#include "comm/nccl/signals.hpp"

namespace trireme::comm {
namespace {

constexpr std::size_t word_count = sizeof(Signal) / sizeof(std::int64_t);

}  // namespace

void Signals::send(int peer, const Signal& signal) {
    while (!sent_signals_.empty() && group_->is_done(sent_signals_.front().id)) sent_signals_.pop_front();
    SentSignal& sent_signal = sent_signals_.emplace_back(SentSignal{.signal = signal, .id = 0});
    sent_signal.id = group_->start_send(
        device::ConstTensor{&sent_signal.signal, device::DType::i64, 1, word_count, word_count}, peer);
}

// The probe finds only signals that have arrived. Their receives are done almost at once, so this function
// polls in a loop and needs no stall limit.
void Signals::receive_all(const std::function<void(int peer, const Signal& signal)>& handle) {
    while (const std::optional<int> peer = group_->probe_sender()) {
        Signal signal;
        const auto id = group_->start_receive(
            device::Tensor{&signal, device::DType::i64, 1, word_count, word_count}, *peer);
        while (!group_->is_done(id)) continue;
        handle(*peer, signal);
    }
    while (!sent_signals_.empty() && group_->is_done(sent_signals_.front().id)) sent_signals_.pop_front();
}

}  // namespace trireme::comm
