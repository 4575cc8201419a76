// A communicator that counts the messages and bytes that this rank sends.
#pragma once

#include <array>
#include <ostream>

#include "trireme/comm/communicator.hpp"

namespace trireme::validation {

struct Sent {
    std::size_t messages = 0;
    std::size_t bytes = 0;

    Sent& operator+=(const Sent& other) {
        messages += other.messages;
        bytes += other.bytes;
        return *this;
    }
    friend Sent operator-(const Sent& a, const Sent& b) { return {a.messages - b.messages, a.bytes - b.bytes}; }
    friend bool operator==(const Sent&, const Sent&) = default;
    friend void PrintTo(const Sent& sent, std::ostream* out) {
        *out << sent.messages << " messages of " << sent.bytes << " bytes";
    }
};

class CountingGroup final : public comm::Communicator {
public:
    explicit CountingGroup(comm::Communicator& group)
        : comm::Communicator({.stall_seconds = 20}), group_(group) {}

    int rank() const override { return group_.rank(); }
    int size() const override { return group_.size(); }
    const std::string& name() const override { return group_.name(); }

    RequestId start_send(device::ConstTensor tensor, int peer, comm::Label label) override {
        sent_ += {1, tensor.bytes()};
        return group_.start_send(tensor, peer, label);
    }
    RequestId start_receive(device::Tensor tensor, int peer, comm::Label label) override {
        return group_.start_receive(tensor, peer, label);
    }
    bool is_done(RequestId id) override { return group_.is_done(id); }
    void progress() override { group_.progress(); }

    const Sent& sent() const { return sent_; }

protected:
    std::string describe(RequestId) const override { return "a message"; }
    void wait_for(RequestId id) override { group_.wait(std::array{id}); }

private:
    comm::Communicator& group_;
    Sent sent_;
};

}  // namespace trireme::validation
