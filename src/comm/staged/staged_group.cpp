#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "trireme/comm/transport_choice.hpp"

namespace trireme::comm {
namespace {

// A pool of pinned memory with one free list per size, because the messages of a run have few sizes.
class PinnedMemory {
public:
    PinnedMemory() = default;
    ~PinnedMemory() {
        for (std::byte* const memory : blocks_) device::free_pinned_memory(memory);
    }
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;

    std::byte* take(std::size_t bytes) {
        std::vector<std::byte*>& free_blocks = free_blocks_[bytes];
        if (free_blocks.empty()) {
            blocks_.push_back(device::allocate_pinned_memory(std::max<std::size_t>(bytes, 1)));
            return blocks_.back();
        }
        std::byte* const memory = free_blocks.back();
        free_blocks.pop_back();
        return memory;
    }
    void give_back(std::byte* memory, std::size_t bytes) { free_blocks_[bytes].push_back(memory); }

private:
    std::vector<std::byte*> blocks_;
    std::map<std::size_t, std::vector<std::byte*>> free_blocks_;
};

struct StagedMessage {
    bool is_send = false;
    int peer = 0;
    Label label = 0;
    device::Tensor gpu_tensor = {};   // destination of a receive into GPU memory; otherwise absent
    device::Tensor host_tensor = {};  // pinned; absent if a tensor in host memory is sent or received directly
    // The request in the host group (see StagedGroup); empty while a send is pending.
    std::optional<Communicator::RequestId> host_request = {};
};

// A send that the host group has not started: its tensor is being copied from the GPU to pinned memory, or an
// earlier send is pending.
struct PendingSend {
    // The end of the copy. The event is never recorded if the tensor was in host memory; is_over() then returns
    // true.
    device::GpuEvent copy_end;
    Communicator::RequestId id;
};

// A received tensor that is being copied to the GPU. Its pinned memory is in use until the copy ends.
struct PendingUpload {
    device::GpuEvent copy_end;
    device::Tensor host_tensor;
};

// A group that sends tensors in GPU memory through pinned host memory. The host group is a group of the same
// ranks that sends only tensors in host memory.
class StagedGroup : public Communicator {
public:
    StagedGroup(std::unique_ptr<Communicator> host_group, device::GpuQueue& queue,
                ProgressEngine& progress_engine, device::WaitPolicy wait_policy)
        : Communicator(wait_policy),
          host_group_(std::move(host_group)),
          queue_(queue),
          progress_engine_(progress_engine),
          // No GPU work waits for a message, so there is nothing to abort.
          registration_(progress_engine.add({.progress = [this] { start_copied_sends(); }, .abort = [] {}})) {}
    ~StagedGroup() override { progress_engine_.remove(registration_); }
    StagedGroup(const StagedGroup&) = delete;
    StagedGroup& operator=(const StagedGroup&) = delete;

    int rank() const override { return host_group_->rank(); }
    int size() const override { return host_group_->size(); }
    const std::string& name() const override { return host_group_->name(); }

    RequestId start_send(device::ConstTensor tensor, int peer, Label label) override;
    RequestId start_receive(device::Tensor tensor, int peer, Label label) override;
    bool is_done(RequestId id) override;
    std::optional<int> probe_sender() override { return host_group_->probe_sender(); }
    void progress() override;

protected:
    std::string describe(RequestId id) const override;

private:
    RequestId add(StagedMessage message);
    void start_copied_sends();
    bool is_host_message_done(std::map<RequestId, StagedMessage>::iterator message);
    void erase_message(std::map<RequestId, StagedMessage>::iterator message);
    void start_upload(const StagedMessage& message);
    void give_back(const device::Tensor& pinned) {
        pinned_.give_back(static_cast<std::byte*>(pinned.data), pinned.bytes());
    }

    std::unique_ptr<Communicator> host_group_;
    device::GpuQueue& queue_;
    ProgressEngine& progress_engine_;
    ProgressEngine::Registration registration_;
    PinnedMemory pinned_;
    RequestId next_id_ = 0;
    std::map<RequestId, StagedMessage> messages_;
    std::deque<PendingSend> pending_sends_;  // in the order of start_send()
    std::deque<PendingUpload> pending_uploads_;
};

// Returns a contiguous tensor in `memory` with the type and shape of `tensor`.
device::Tensor make_host_tensor(std::byte* memory, device::ConstTensor tensor) {
    return {memory, tensor.dtype, tensor.rows, tensor.columns, tensor.columns};
}

Communicator::RequestId StagedGroup::add(StagedMessage message) {
    messages_.emplace(next_id_, std::move(message));
    return next_id_++;
}

Communicator::RequestId StagedGroup::start_send(device::ConstTensor tensor, int peer, Label label) {
    if (!tensor.is_contiguous()) throw BugError("a message must be contiguous");
    traffic_.bytes_sent += tensor.bytes();
    ++traffic_.messages_sent;
    StagedMessage message{.is_send = true, .peer = peer, .label = label};
    if (tensor.memory_space != device::MemorySpace::gpu && pending_sends_.empty()) {
        message.host_request = host_group_->start_send(tensor, peer, label);
        return add(std::move(message));
    }
    message.host_tensor = make_host_tensor(pinned_.take(tensor.bytes()), tensor);
    device::GpuEvent copy_end;
    if (tensor.memory_space == device::MemorySpace::gpu) {
        queue_.copy(message.host_tensor.data, tensor.data, tensor.bytes());
        queue_.mark(copy_end);
    } else {  // a tensor in host memory, which must not overtake pending sends
        if (tensor.is_present()) std::memcpy(message.host_tensor.data, tensor.data, tensor.bytes());
    }
    const RequestId id = add(std::move(message));
    pending_sends_.push_back({.copy_end = std::move(copy_end), .id = id});
    return id;
}

Communicator::RequestId StagedGroup::start_receive(device::Tensor tensor, int peer, Label label) {
    if (!tensor.is_contiguous()) throw BugError("a message must be contiguous");
    StagedMessage message{.peer = peer, .label = label};
    if (tensor.memory_space == device::MemorySpace::gpu) {
        message.gpu_tensor = tensor;
        message.host_tensor = make_host_tensor(pinned_.take(tensor.bytes()), tensor);
    }
    const device::Tensor receive_buffer =
        tensor.memory_space == device::MemorySpace::gpu ? message.host_tensor : tensor;
    message.host_request = host_group_->start_receive(receive_buffer, peer, label);
    return add(std::move(message));
}

bool StagedGroup::is_done(RequestId id) {
    start_copied_sends();
    const auto found = messages_.find(id);
    if (found == messages_.end())
        throw BugError(cat("message ", id, " of the ", name(), " group is not in flight"));
    if (!is_host_message_done(found)) return false;
    if (found->second.gpu_tensor.is_present()) {
        start_upload(found->second);
        messages_.erase(found);  // the pinned memory is in use until the upload has ended
    } else {
        erase_message(found);
    }
    return true;
}

// Returns true if the host group has sent or received the message. If another message arrives in its place,
// erases the expected message, so that no call waits for it again, and throws MessageMismatch.
bool StagedGroup::is_host_message_done(std::map<RequestId, StagedMessage>::iterator message) {
    try {
        return message->second.host_request && host_group_->is_done(*message->second.host_request);
    } catch (const MessageMismatch&) {
        erase_message(message);
        throw;
    }
}

void StagedGroup::erase_message(std::map<RequestId, StagedMessage>::iterator message) {
    if (message->second.host_tensor.data != nullptr) give_back(message->second.host_tensor);
    messages_.erase(message);
}

void StagedGroup::progress() {
    start_copied_sends();
    host_group_->progress();
}

// Starts messages in the order of start_send(), because messages between two ranks must not overtake each
// other.
void StagedGroup::start_copied_sends() {
    while (!pending_sends_.empty() && pending_sends_.front().copy_end.is_over()) {
        StagedMessage& message = messages_.at(pending_sends_.front().id);
        message.host_request = host_group_->start_send(message.host_tensor, message.peer, message.label);
        pending_sends_.pop_front();
    }
}

// Queues the copy of a received tensor to the GPU; work that is queued later reads the received values. The
// first call of this function after the end of the copy returns the pinned memory to the pool.
void StagedGroup::start_upload(const StagedMessage& message) {
    while (!pending_uploads_.empty() && pending_uploads_.front().copy_end.is_over()) {
        give_back(pending_uploads_.front().host_tensor);
        pending_uploads_.pop_front();
    }
    queue_.copy(message.gpu_tensor.data, message.host_tensor.data, message.gpu_tensor.bytes());
    pending_uploads_.push_back({.copy_end = device::GpuEvent(), .host_tensor = message.host_tensor});
    queue_.mark(pending_uploads_.back().copy_end);
}

std::string StagedGroup::describe(RequestId id) const {
    const StagedMessage& message = messages_.at(id);
    return cat("rank ", rank(), message.is_send ? "'s message to rank " : "'s message from rank ",
               message.peer);
}

}  // namespace

std::unique_ptr<Communicator> make_staged_group(std::unique_ptr<Communicator> host_group,
                                                device::GpuQueue& queue, ProgressEngine& progress_engine,
                                                device::WaitPolicy wait_policy) {
    return std::make_unique<StagedGroup>(std::move(host_group), queue, progress_engine, wait_policy);
}

}  // namespace trireme::comm
