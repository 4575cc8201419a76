#include "trireme/comm/valueless_group.hpp"

#include <array>

namespace trireme {
namespace {

class ValuelessGroup final : public Communicator {
public:
    ValuelessGroup(std::unique_ptr<Communicator> group, std::shared_ptr<const BlankMemory> memory)
        : Communicator({}), group_(std::move(group)), memory_(std::move(memory)) {}

    int rank() const override { return group_->rank(); }
    int size() const override { return group_->size(); }
    const std::string& name() const override { return group_->name(); }
    bool is_ghost() const override { return true; }

    Ticket start_send(ConstTensor tensor, int peer, Label label) override {
        traffic_.bytes_sent += tensor.bytes();
        return group_->start_send(blank(tensor), peer, label);
    }
    Ticket start_receive(Tensor tensor, int peer, Label label) override {
        return group_->start_receive(blank(tensor), peer, label);
    }
    bool is_done(Ticket ticket) override { return group_->is_done(ticket); }
    std::optional<int> unasked_sender() override { return group_->unasked_sender(); }
    void progress() override { group_->progress(); }

protected:
    std::string describe(Ticket) const override { return "a message"; }
    void wait_for(Ticket ticket) override { group_->wait(std::array{ticket}); }

private:
    template <class AnyTensor>
    Tensor blank(const AnyTensor& tensor) const {
        if (tensor.bytes() > memory_->bytes()) {
            throw ConfigError(
                cat("a message of ", tensor.bytes(), " bytes of the ", name(), " group is beyond the ",
                    memory_->bytes(),
                    " that a simulation without arithmetic has room for; use more micro-batches"));
        }
        return {memory_->data(), tensor.dtype, tensor.rows, tensor.columns, tensor.stride};
    }

    std::unique_ptr<Communicator> group_;
    std::shared_ptr<const BlankMemory> memory_;
};

}  // namespace

std::unique_ptr<Communicator> without_values(std::unique_ptr<Communicator> group,
                                             std::shared_ptr<const BlankMemory> memory) {
    return std::make_unique<ValuelessGroup>(std::move(group), std::move(memory));
}

}  // namespace trireme
