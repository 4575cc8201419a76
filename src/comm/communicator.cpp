#include "trireme/comm/communicator.hpp"

#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

class SingleRank final : public Communicator {
public:
    explicit SingleRank(std::string name) : Communicator({}), name_(std::move(name)) {}

    int rank() const override { return 0; }
    int size() const override { return 1; }
    const std::string& name() const override { return name_; }

    Ticket start_send(device::ConstTensor, int peer, Label) override { refuse(peer); }
    Ticket start_receive(device::Tensor, int peer, Label) override { refuse(peer); }
    bool is_done(Ticket) override { return true; }

protected:
    std::string describe(Ticket) const override { return "nothing"; }

private:
    [[noreturn]] void refuse(int peer) const {
        throw BugError(cat("the ", name_, " group has one rank; there is no rank ", peer));
    }

    std::string name_;
};

}  // namespace

void Communicator::wait(std::span<const Ticket> tickets) {
    const double begin = device::now_seconds();
    for (const Ticket ticket : tickets) wait_for(ticket);
    traffic_.wait_seconds += device::now_seconds() - begin;
}

void Communicator::progress() {
    if (patience_.lookout != nullptr) patience_.lookout->look(0);
}

void Communicator::wait_for(Ticket ticket) {
    wait_until([&] { return is_done(ticket); }, patience_, [&] { return name_of(ticket); });
}

std::string Communicator::name_of(Ticket ticket) const {
    return cat(describe(ticket), " of the ", name(), " group");
}

std::unique_ptr<Communicator> single_rank(std::string name) {
    return std::make_unique<SingleRank>(std::move(name));
}

}  // namespace trireme::comm
