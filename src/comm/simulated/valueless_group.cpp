#include "trireme/comm/valueless_group.hpp"

#include <array>

namespace trireme::comm {
namespace {

// If `merges_messages`, one message to the next rank of a ring replaces the messages to all other ranks; see
// make_valueless_ring_group(). The replaced messages are never sent, and their id is `no_message`.
class ValuelessGroup final : public Communicator {
public:
    ValuelessGroup(std::unique_ptr<Communicator> group, std::shared_ptr<const BlankMemory> memory,
                   bool merges_messages)
        : Communicator({}),
          group_(std::move(group)),
          memory_(std::move(memory)),
          merges_messages_(merges_messages) {}

    int rank() const override { return group_->rank(); }
    int size() const override { return group_->size(); }
    const std::string& name() const override { return group_->name(); }
    bool is_ghost() const override { return true; }

    RequestId start_send(device::ConstTensor tensor, int peer, Label label) override {
        traffic_.bytes_sent += tensor.bytes();
        ++traffic_.messages_sent;
        if (merges_messages_ && peer != (rank() + 1) % size()) return no_message;
        return group_->start_send(make_valueless_message(tensor), peer, label);
    }
    RequestId start_receive(device::Tensor tensor, int peer, Label label) override {
        if (merges_messages_ && (peer + 1) % size() != rank()) return no_message;
        return group_->start_receive(make_valueless_message(tensor), peer, label);
    }
    bool is_done(RequestId id) override { return id == no_message || group_->is_done(id); }
    void remove_done(std::vector<RequestId>& ids) override {
        std::erase(ids, no_message);
        group_->remove_done(ids);
    }
    std::optional<int> probe_sender() override { return group_->probe_sender(); }
    void progress() override { group_->progress(); }

protected:
    std::string describe(RequestId) const override { return "a message"; }
    void wait_for(RequestId id) override {
        if (id != no_message) group_->wait(std::array{id});
    }

private:
    static constexpr RequestId no_message = 0;  // id of a replaced message; ids of the wrapped group are larger

    // Returns the memory that is sent or received in place of `tensor`. The memory is as long as `tensor`, or,
    // with `merges_messages_`, as long as the messages to all other ranks together.
    template <class AnyTensor>
    device::Tensor make_valueless_message(const AnyTensor& tensor) const {
        const std::size_t merged_messages = merges_messages_ ? static_cast<std::size_t>(size()) - 1 : 1;
        const std::size_t bytes = merged_messages * tensor.bytes();
        if (bytes > memory_->bytes()) {
            throw ConfigError(cat("a message of the ", name(), " group has ", bytes,
                                  " bytes, but a simulation without arithmetic sends at most ",
                                  memory_->bytes(), " bytes in a message; use more micro-batches"));
        }
        return {memory_->data(), tensor.dtype, 1, merged_messages * tensor.size(),
                merged_messages * tensor.size()};
    }

    std::unique_ptr<Communicator> group_;
    std::shared_ptr<const BlankMemory> memory_;
    bool merges_messages_;
};

}  // namespace

std::unique_ptr<Communicator> make_valueless_group(std::unique_ptr<Communicator> group,
                                                   std::shared_ptr<const BlankMemory> memory) {
    return std::make_unique<ValuelessGroup>(std::move(group), std::move(memory), false);
}

std::unique_ptr<Communicator> make_valueless_ring_group(std::unique_ptr<Communicator> group,
                                                        std::shared_ptr<const BlankMemory> memory) {
    return std::make_unique<ValuelessGroup>(std::move(group), std::move(memory), true);
}

}  // namespace trireme::comm
