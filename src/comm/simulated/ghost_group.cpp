#include "trireme/comm/communicator.hpp"

namespace trireme::comm {
namespace {

// A group of which only this rank exists. Messages are done at once and carry no values.
class GhostGroup final : public Communicator {
public:
    GhostGroup(std::string name, int rank, int size)
        : Communicator({}), name_(std::move(name)), rank_(rank), size_(size) {
        if (rank < 0 || rank >= size) throw BugError(cat("there is no rank ", rank, " in ", describe_group()));
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    const std::string& name() const override { return name_; }
    bool is_ghost() const override { return true; }

    RequestId start_send(device::ConstTensor tensor, int peer, Label) override {
        traffic_.bytes_sent += tensor.bytes();
        ++traffic_.messages_sent;
        return check(tensor.is_contiguous(), peer);
    }
    RequestId start_receive(device::Tensor tensor, int peer, Label) override {
        return check(tensor.is_contiguous(), peer);
    }
    bool is_done(RequestId) override { return true; }

protected:
    std::string describe(RequestId) const override { return "nothing"; }

private:
    // Detects in a dry run the errors that would stop the real run.
    RequestId check(bool is_contiguous, int peer) const {
        if (!is_contiguous) throw BugError("a message must be contiguous");
        if (peer < 0 || peer >= size_ || peer == rank_)
            throw BugError(cat("rank ", rank_, " has no peer ", peer, " in ", describe_group()));
        return 0;
    }

    std::string describe_group() const { return cat("the ", name_, " group of ", size_, " ranks"); }

    std::string name_;
    int rank_;
    int size_;
};

}  // namespace

std::unique_ptr<Communicator> make_ghost_group(std::string name, int rank, int size) {
    return std::make_unique<GhostGroup>(std::move(name), rank, size);
}

}  // namespace trireme::comm
