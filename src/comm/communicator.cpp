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

    RequestId start_send(device::ConstTensor, int peer, Label) override { refuse(peer); }
    RequestId start_receive(device::Tensor, int peer, Label) override { refuse(peer); }
    bool is_done(RequestId) override { return true; }

protected:
    std::string describe(RequestId) const override { return "nothing"; }

private:
    [[noreturn]] void refuse(int peer) const {
        throw BugError(cat("the ", name_, " group has one rank; there is no rank ", peer));
    }

    std::string name_;
};

}  // namespace

void Communicator::wait(std::span<const RequestId> ids) {
    const double begin = device::now_seconds();
    const double joules = device::read_joules(meter_);
    for (const RequestId id : ids) wait_for(id);
    traffic_.wait_seconds += device::now_seconds() - begin;
    traffic_.wait_joules += device::read_joules(meter_) - joules;
}

void Communicator::remove_done(std::vector<RequestId>& ids) {
    std::erase_if(ids, [&](RequestId id) { return is_done(id); });
}

void Communicator::progress() {
    if (wait_policy_.observer != nullptr) wait_policy_.observer->on_poll(0);
}

void Communicator::wait_for(RequestId id) {
    wait_until([&] { return is_done(id); }, wait_policy_, [&] { return to_string(id); });
}

std::string Communicator::to_string(RequestId id) const {
    return cat(describe(id), " of the ", name(), " group");
}

std::unique_ptr<Communicator> make_single_rank_group(std::string name) {
    return std::make_unique<SingleRank>(std::move(name));
}

}  // namespace trireme::comm
