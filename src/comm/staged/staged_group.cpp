#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "trireme/comm/gpu_messages.hpp"

namespace trireme::comm {
namespace {

// A pool of pinned memory with one free list per size, because the messages of a run have few sizes.
class PinnedMemory {
public:
    PinnedMemory() = default;
    ~PinnedMemory() {
        for (std::byte* const memory : all_) device::give_back_pinned_memory(memory);
    }
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;

    std::byte* lend(std::size_t bytes) {
        std::vector<std::byte*>& of_size = free_[bytes];
        if (of_size.empty()) {
            all_.push_back(device::take_pinned_memory(std::max<std::size_t>(bytes, 1)));
            return all_.back();
        }
        std::byte* const memory = of_size.back();
        of_size.pop_back();
        return memory;
    }
    void take_back(std::byte* memory, std::size_t bytes) { free_[bytes].push_back(memory); }

private:
    std::vector<std::byte*> all_;
    std::map<std::size_t, std::vector<std::byte*>> free_;
};

struct StagedMessage {
    bool is_send = false;
    int peer = 0;
    Label label = 0;
    device::Tensor on_gpu = {};                        // destination of a receive
    device::Tensor on_host = {};                       // pinned
    std::optional<Communicator::Ticket> travels = {};  // empty until the copy from the GPU is over
};

// A send that is being copied from the GPU to pinned memory.
struct Leaving {
    device::GpuMoment copied;
    Communicator::Ticket ticket;
};

// A copy to the GPU, which needs its pinned memory until it is over.
struct Landing {
    device::GpuMoment landed;
    device::Tensor on_host;
};

class StagedGroup : public Communicator {
public:
    StagedGroup(std::unique_ptr<Communicator> ranks, device::GpuQueue& queue, Postman& postman,
                device::Patience patience)
        : Communicator(patience),
          ranks_(std::move(ranks)),
          queue_(queue),
          postman_(postman),
          customer_(postman.add({.go_on = [this] { start_what_has_left_the_gpu(); }, .abandon = [] {}})) {}
    ~StagedGroup() override { postman_.remove(customer_); }
    StagedGroup(const StagedGroup&) = delete;
    StagedGroup& operator=(const StagedGroup&) = delete;

    int rank() const override { return ranks_->rank(); }
    int size() const override { return ranks_->size(); }
    const std::string& name() const override { return ranks_->name(); }

    Ticket start_send(device::ConstTensor tensor, int peer, Label label) override;
    Ticket start_receive(device::Tensor tensor, int peer, Label label) override;
    bool is_done(Ticket ticket) override;
    std::optional<int> unasked_sender() override { return ranks_->unasked_sender(); }
    void progress() override;

protected:
    std::string describe(Ticket ticket) const override;

private:
    Ticket add(StagedMessage message);
    void start_what_has_left_the_gpu();
    bool has_come(std::map<Ticket, StagedMessage>::iterator message);
    void forget(std::map<Ticket, StagedMessage>::iterator message);
    void land(const StagedMessage& message);
    void give_back(const device::Tensor& pinned) {
        pinned_.take_back(static_cast<std::byte*>(pinned.data), pinned.bytes());
    }

    std::unique_ptr<Communicator> ranks_;
    device::GpuQueue& queue_;
    Postman& postman_;
    Postman::Customer customer_;
    PinnedMemory pinned_;
    Ticket next_ = 0;
    std::map<Ticket, StagedMessage> messages_;
    std::deque<Leaving> leaving_;  // in the order of start_send()
    std::deque<Landing> landing_;
};

// Returns a contiguous tensor in `memory` with the type and shape of `of`.
device::Tensor twin(std::byte* memory, device::ConstTensor of) {
    return {memory, of.dtype, of.rows, of.columns, of.columns};
}

Communicator::Ticket StagedGroup::add(StagedMessage message) {
    messages_.emplace(next_, std::move(message));
    return next_++;
}

Communicator::Ticket StagedGroup::start_send(device::ConstTensor tensor, int peer, Label label) {
    if (!tensor.is_contiguous()) throw BugError("a message must be contiguous");
    traffic_.bytes_sent += tensor.bytes();
    StagedMessage message{.is_send = true, .peer = peer, .label = label};
    if (tensor.place != device::MemorySpace::gpu && leaving_.empty()) {
        message.travels = ranks_->start_send(tensor, peer, label);
        return add(std::move(message));
    }
    message.on_host = twin(pinned_.lend(tensor.bytes()), tensor);
    device::GpuMoment copied;
    if (tensor.place == device::MemorySpace::gpu) {
        queue_.copy(message.on_host.data, tensor.data, tensor.bytes());
        queue_.mark(copied);
    } else {  // queued after earlier sends whose copies from the GPU are not over
        if (tensor.is_present()) std::memcpy(message.on_host.data, tensor.data, tensor.bytes());
    }
    const Ticket ticket = add(std::move(message));
    leaving_.push_back({.copied = std::move(copied), .ticket = ticket});
    return ticket;
}

Communicator::Ticket StagedGroup::start_receive(device::Tensor tensor, int peer, Label label) {
    if (!tensor.is_contiguous()) throw BugError("a message must be contiguous");
    StagedMessage message{.peer = peer, .label = label};
    if (tensor.place == device::MemorySpace::gpu) {
        message.on_gpu = tensor;
        message.on_host = twin(pinned_.lend(tensor.bytes()), tensor);
    }
    const device::Tensor arrives = tensor.place == device::MemorySpace::gpu ? message.on_host : tensor;
    message.travels = ranks_->start_receive(arrives, peer, label);
    return add(std::move(message));
}

bool StagedGroup::is_done(Ticket ticket) {
    start_what_has_left_the_gpu();
    const auto found = messages_.find(ticket);
    if (found == messages_.end())
        throw BugError(cat("message ", ticket, " of the ", name(), " group is not in flight"));
    if (!has_come(found)) return false;
    if (found->second.on_gpu.is_present()) {
        land(found->second);
        messages_.erase(found);
    } else {
        forget(found);
    }
    return true;
}

// A mismatched message is removed, so that it is not waited for again.
bool StagedGroup::has_come(std::map<Ticket, StagedMessage>::iterator message) {
    try {
        return message->second.travels && ranks_->is_done(*message->second.travels);
    } catch (const MessageMismatch&) {
        forget(message);
        throw;
    }
}

void StagedGroup::forget(std::map<Ticket, StagedMessage>::iterator message) {
    if (message->second.on_host.data != nullptr) give_back(message->second.on_host);
    messages_.erase(message);
}

void StagedGroup::progress() {
    start_what_has_left_the_gpu();
    ranks_->progress();
}

// Sends start in the order of start_send(), because messages between two ranks must not overtake each other.
void StagedGroup::start_what_has_left_the_gpu() {
    while (!leaving_.empty() && leaving_.front().copied.is_over()) {
        StagedMessage& message = messages_.at(leaving_.front().ticket);
        message.travels = ranks_->start_send(message.on_host, message.peer, message.label);
        leaving_.pop_front();
    }
}

// Queues the copy to the GPU, so that later work of the queue
// sees it. The pinned memory returns to the pool after the copy.
void StagedGroup::land(const StagedMessage& message) {
    while (!landing_.empty() && landing_.front().landed.is_over()) {
        give_back(landing_.front().on_host);
        landing_.pop_front();
    }
    queue_.copy(message.on_gpu.data, message.on_host.data, message.on_gpu.bytes());
    landing_.push_back({.landed = device::GpuMoment(), .on_host = message.on_host});
    queue_.mark(landing_.back().landed);
}

std::string StagedGroup::describe(Ticket ticket) const {
    const StagedMessage& message = messages_.at(ticket);
    return cat("rank ", rank(), message.is_send ? "'s message to rank " : "'s message from rank ",
               message.peer);
}

}  // namespace

std::unique_ptr<Communicator> staged_group(std::unique_ptr<Communicator> ranks, device::GpuQueue& queue,
                                           Postman& postman, device::Patience patience) {
    return std::make_unique<StagedGroup>(std::move(ranks), queue, postman, patience);
}

}  // namespace trireme::comm
