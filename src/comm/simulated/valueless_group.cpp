#include "trireme/comm/valueless_group.hpp"

#include <array>

namespace trireme::comm {
namespace {

class ValuelessGroup final : public Communicator {
public:
    ValuelessGroup(std::unique_ptr<Communicator> group, std::shared_ptr<const BlankMemory> memory, bool is_ring)
        : Communicator({}), group_(std::move(group)), memory_(std::move(memory)), is_ring_(is_ring) {}

    int rank() const override { return group_->rank(); }
    int size() const override { return group_->size(); }
    const std::string& name() const override { return group_->name(); }
    bool is_ghost() const override { return true; }

    Ticket start_send(device::ConstTensor tensor, int peer, Label label) override {
        traffic_.bytes_sent += tensor.bytes();
        if (is_ring_ && peer != (rank() + 1) % size()) return nothing;
        return group_->start_send(blank(tensor), peer, label);
    }
    Ticket start_receive(device::Tensor tensor, int peer, Label label) override {
        if (is_ring_ && (peer + 1) % size() != rank()) return nothing;
        return group_->start_receive(blank(tensor), peer, label);
    }
    bool is_done(Ticket ticket) override { return ticket == nothing || group_->is_done(ticket); }
    std::optional<int> unasked_sender() override { return group_->unasked_sender(); }
    void progress() override { group_->progress(); }

protected:
    std::string describe(Ticket) const override { return "a message"; }
    void wait_for(Ticket ticket) override {
        if (ticket != nothing) group_->wait(std::array{ticket});
    }

private:
    static constexpr Ticket nothing = 0;  // ticket of a message that is not sent; valid tickets are larger

    template <class AnyTensor>
    device::Tensor blank(const AnyTensor& tensor) const {
        const std::size_t times = is_ring_ ? static_cast<std::size_t>(size()) - 1 : 1;
        const std::size_t bytes = times * tensor.bytes();
        if (bytes > memory_->bytes()) {
            throw ConfigError(
                cat("a message of ", bytes, " bytes of the ", name(), " group is beyond the ", memory_->bytes(),
                    " that a simulation without arithmetic has room for; use more micro-batches"));
        }
        return {memory_->data(), tensor.dtype, 1, times * tensor.size(), times * tensor.size()};
    }

    std::unique_ptr<Communicator> group_;
    std::shared_ptr<const BlankMemory> memory_;
    bool is_ring_;
};

}  // namespace

std::unique_ptr<Communicator> without_values(std::unique_ptr<Communicator> group,
                                             std::shared_ptr<const BlankMemory> memory) {
    return std::make_unique<ValuelessGroup>(std::move(group), std::move(memory), false);
}

std::unique_ptr<Communicator> around_ring_without_values(std::unique_ptr<Communicator> group,
                                                         std::shared_ptr<const BlankMemory> memory) {
    return std::make_unique<ValuelessGroup>(std::move(group), std::move(memory), true);
}

}  // namespace trireme::comm
