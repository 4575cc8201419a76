// A group that sends tensors in GPU memory over NCCL. The drawing shows the steps of the two ranks for a
// message from rank a to rank b. Time runs from left to right; arrows are MPI messages between the two ranks.
//
//   rank a   start_send     header ->          NCCL's send in the queue, "sent" ->
//   rank b   start_receive  <- "wanted"                                        NCCL's receive in the queue
//
// The header is an MPI message, which keeps messages in order and reveals mismatches. "wanted" and "sent" are
// signals (signals.hpp). No GPU waits for a rank that has not called start_send() or start_receive() yet:
// NCCL's send is queued only after the receiver's "wanted", and NCCL's receive only after the sender's "sent".
// Therefore a process that waits for its GPU cannot block another process. (If receives were queued first, two
// processes could deadlock: each process would wait for its own GPU, and each GPU for a send that the other
// process cannot start.)
#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <optional>

#include "comm/nccl/channel.hpp"
#include "comm/nccl/signals.hpp"
#include "trireme/comm/nccl.hpp"

namespace trireme::comm {
namespace {

struct MessageHeader {
    static constexpr std::int64_t gpu_marker = 0x5472'6972'656d'6547;

    std::int64_t marker = 0;  // gpu_marker; distinguishes a header from a message in host memory
    std::int64_t label = 0;   // the complete label; MPI tags hold it modulo the number of tags
    std::int64_t bytes = 0;

    device::Tensor view() { return {this, device::DType::i64, 1, 3, 3}; }
};

// State of the NCCL call of a message. `is_starting`: NCCL has been called, but has not put the work into the
// queue yet. `is_refused`: the two ranks disagree on the message, and NCCL is not called.
enum class MessageState : std::uint8_t { is_waiting, is_starting, is_queued, is_refused };

struct NcclMessage {
    bool is_send = false;
    int peer = 0;
    Label label = 0;
    bool is_in_gpu_memory = false;  // otherwise in host memory, sent by MPI alone
    void* memory = nullptr;
    std::size_t bytes = 0;
    Communicator::RequestId mpi_request = 0;  // MPI request of the header, or of a message in host memory
    bool is_mpi_done = false;
    MessageHeader header = {};
    MessageState state = MessageState::is_waiting;
    std::optional<MessageMismatch> mismatch = {};
    // Over when the memory of a send has been written, or when the memory of a receive may be overwritten.
    std::optional<device::GpuEvent> ready_event = {};
    std::optional<device::GpuEvent> transfer_end = {};  // end of NCCL's work; empty if the message has no bytes
};

// This rank's end of a channel, with the messages that NCCL has not started yet, in the order of start_send()
// or start_receive().
struct ChannelEnd {
    std::unique_ptr<NcclChannel> channel;
    std::deque<NcclMessage*> unstarted_messages = {};  // the first one may be starting
    std::deque<Signal> signals = {};                   // arrived signals that no message has used yet
};

class NcclGroup final : public Communicator {
public:
    NcclGroup(NcclGroupSpec spec, device::WaitPolicy wait_policy);
    ~NcclGroup() override;
    NcclGroup(const NcclGroup&) = delete;
    NcclGroup& operator=(const NcclGroup&) = delete;

    int rank() const override { return mpi_group_->rank(); }
    int size() const override { return mpi_group_->size(); }
    const std::string& name() const override { return mpi_group_->name(); }

    RequestId start_send(device::ConstTensor tensor, int peer, Label label) override;
    RequestId start_receive(device::Tensor tensor, int peer, Label label) override;
    bool is_done(RequestId id) override;
    std::optional<int> probe_sender() override { return mpi_group_->probe_sender(); }
    void progress() override;

protected:
    std::string describe(RequestId id) const override;

private:
    using ChannelEndMap = std::map<int, ChannelEnd>;  // key: the rank at the other end
    using Messages = std::map<RequestId, NcclMessage>;

    void open(const std::vector<RankPair>& pairs);
    void close();
    ChannelEnd& find_end(bool is_send, int peer);
    Messages::iterator add(bool is_send, int peer, Label label);

    void progress_channels();
    void progress_channel(ChannelEnd& end);
    bool can_start_next(ChannelEnd& end);
    bool test_mpi_request(NcclMessage& message);
    void compare_header(NcclMessage& message);
    void start(ChannelEnd& end);
    void finish_start(ChannelEnd& end);
    bool is_over(NcclMessage& message);
    void abort_channels() noexcept;
    template <class Call>
    void abort_on_error(Call&& call);
    void require_not_aborted() const {
        if (is_aborted_)
            throw ResourceError(
                cat("the messages of the ", name(), " group were aborted, because the job is about to end"));
    }

    std::shared_ptr<const NcclLibrary> library_;
    std::unique_ptr<Communicator> mpi_group_;
    Signals signals_;
    device::GpuQueue& queue_;
    ProgressEngine& progress_engine_;
    ProgressEngine::Registration registration_ = {};
    int exceptions_ = std::uncaught_exceptions();  // number of uncaught exceptions at construction
    ChannelEndMap send_ends_, receive_ends_;
    RequestId next_id_ = 0;
    Messages messages_;
    bool is_aborted_ = false;
};

NcclGroup::NcclGroup(NcclGroupSpec spec, device::WaitPolicy wait_policy)
    : Communicator(wait_policy),
      library_(std::move(spec.library)),
      mpi_group_(std::move(spec.ranks)),
      signals_(std::move(spec.signals)),
      queue_(spec.queue),
      progress_engine_(spec.progress_engine) {
    open(spec.pairs);
    registration_ = progress_engine_.add(
        {.progress = [this] { progress_channels(); }, .abort = [this] { abort_channels(); }});
}

// If an exception ends this rank, or messages are in flight, the job is about to be aborted, and the other
// ranks may never close their ends. Then channels are aborted rather than closed.
NcclGroup::~NcclGroup() {
    progress_engine_.remove(registration_);
    const bool is_orderly = std::uncaught_exceptions() <= exceptions_ && messages_.empty();
    try {
        if (is_orderly) close();
    } catch (const std::exception&) {  // abort_channels() aborts the remaining channels
    }
    abort_channels();
}

// All ranks open the channels in the same order. Each rank waits for the other end of one channel at a time.
void NcclGroup::open(const std::vector<RankPair>& pairs) {
    std::vector<RankPair> ascending = pairs;
    std::ranges::sort(ascending);
    for (const auto& [from, to] : ascending) {
        if (from != rank() && to != rank()) continue;
        const ChannelEnds ends{.sender = from, .receiver = to, .own_rank = rank(), .group = name()};
        ChannelEndMap& own = ends.is_sender() ? send_ends_ : receive_ends_;
        own[ends.peer()].channel = open_channel(*library_, *mpi_group_, ends, wait_policy());
    }
}

// Destroying a channel may wait until its other end closes. Therefore this function begins to close all
// channels, and then destroys them in the order in which they were opened.
void NcclGroup::close() {
    std::vector<NcclChannel*> channels;
    for (ChannelEndMap* const ends : {&send_ends_, &receive_ends_})
        for (auto& [peer, end] : *ends) channels.push_back(end.channel.get());
    std::ranges::sort(channels, {}, [](const NcclChannel* channel) {
        return RankPair(channel->ends().sender, channel->ends().receiver);
    });
    for (NcclChannel* const channel : channels) channel->begin_to_close();
    for (NcclChannel* const channel : channels) close_channel(*channel, wait_policy());
}

ChannelEnd& NcclGroup::find_end(bool is_send, int peer) {
    ChannelEndMap& ends = is_send ? send_ends_ : receive_ends_;
    const auto found = ends.find(peer);
    if (found == ends.end()) {
        throw BugError(cat("the ", name(), " group has no NCCL channel from rank ", is_send ? rank() : peer,
                           " to rank ", is_send ? peer : rank()));
    }
    return found->second;
}

NcclGroup::Messages::iterator NcclGroup::add(bool is_send, int peer, Label label) {
    const auto added = messages_.try_emplace(next_id_++).first;
    added->second.is_send = is_send;
    added->second.peer = peer;
    added->second.label = label;
    return added;
}

Communicator::RequestId NcclGroup::start_send(device::ConstTensor tensor, int peer, Label label) {
    if (!tensor.is_contiguous()) throw BugError("a message must be contiguous");
    traffic_.bytes_sent += tensor.bytes();
    ++traffic_.messages_sent;
    if (tensor.memory_space != device::MemorySpace::gpu) {
        const RequestId mpi_request = mpi_group_->start_send(tensor, peer, label);
        const auto added = add(true, peer, label);
        added->second.mpi_request = mpi_request;
        return added->first;
    }
    ChannelEnd& end = find_end(true, peer);
    const auto added = add(true, peer, label);
    NcclMessage& message = added->second;
    message.is_in_gpu_memory = true;
    message.memory = const_cast<void*>(tensor.data);  // NCCL only reads it
    message.bytes = tensor.bytes();
    message.header = {
        .marker = MessageHeader::gpu_marker, .label = label, .bytes = static_cast<std::int64_t>(message.bytes)};
    message.mpi_request = mpi_group_->start_send(message.header.view(), peer, label);
    queue_.mark(message.ready_event.emplace());
    end.unstarted_messages.push_back(&message);
    progress_channels();
    return added->first;
}

Communicator::RequestId NcclGroup::start_receive(device::Tensor tensor, int peer, Label label) {
    if (!tensor.is_contiguous()) throw BugError("a message must be contiguous");
    if (tensor.memory_space != device::MemorySpace::gpu) {
        const RequestId mpi_request = mpi_group_->start_receive(tensor, peer, label);
        const auto added = add(false, peer, label);
        added->second.mpi_request = mpi_request;
        return added->first;
    }
    ChannelEnd& end = find_end(false, peer);
    const auto added = add(false, peer, label);
    NcclMessage& message = added->second;
    message.is_in_gpu_memory = true;
    message.memory = tensor.data;
    message.bytes = tensor.bytes();
    message.mpi_request = mpi_group_->start_receive(message.header.view(), peer, label);
    queue_.mark(message.ready_event.emplace());
    end.unstarted_messages.push_back(&message);
    signals_.send(
        peer,
        {.kind = Signal::Kind::wanted, .label = label, .bytes = static_cast<std::int64_t>(message.bytes)});
    progress_channels();
    return added->first;
}

bool NcclGroup::is_done(RequestId id) {
    require_not_aborted();
    progress_channels();
    const auto found = messages_.find(id);
    if (found == messages_.end())
        throw BugError(cat("message ", id, " of the ", name(), " group is not in flight"));
    NcclMessage& message = found->second;
    if (message.is_in_gpu_memory) {
        if (!is_over(message)) return false;
    } else if (!test_mpi_request(message)) {
        return false;
    }
    const std::optional<MessageMismatch> mismatch = std::move(message.mismatch);
    messages_.erase(found);
    if (mismatch) throw MessageMismatch(*mismatch);
    return true;
}

// A receive is done as soon as the wait for its transfer is in the queue, so that later work of the queue reads
// the received values. A send is done only when the transfer has ended, since its memory is in use until then.
bool NcclGroup::is_over(NcclMessage& message) {
    if (message.state == MessageState::is_refused) return !message.is_send || test_mpi_request(message);
    if (message.state != MessageState::is_queued || !test_mpi_request(message)) return false;
    if (!message.transfer_end) return true;
    if (message.is_send) return message.transfer_end->is_over();
    queue_.wait_for(*message.transfer_end);
    return true;
}

// Returns true if the MPI request of `message` is done. If an unexpected message has arrived, also returns
// true, and sets message.mismatch.
bool NcclGroup::test_mpi_request(NcclMessage& message) {
    if (message.is_mpi_done) return true;
    try {
        message.is_mpi_done = mpi_group_->is_done(message.mpi_request);
    } catch (const MessageMismatch& mismatch) {
        message.is_mpi_done = true;
        message.mismatch = mismatch;
    }
    return message.is_mpi_done;
}

void NcclGroup::progress() {
    progress_channels();
    mpi_group_->progress();
}

void NcclGroup::progress_channels() {
    signals_.receive_all([this](int peer, const Signal& signal) {
        find_end(signal.kind == Signal::Kind::wanted, peer).signals.push_back(signal);
    });
    for (ChannelEndMap* const ends : {&send_ends_, &receive_ends_})
        for (auto& [peer, end] : *ends) progress_channel(end);
}

void NcclGroup::progress_channel(ChannelEnd& end) {
    abort_on_error([&] {
        while (end.channel->is_ready()) {
            if (!end.unstarted_messages.empty() &&
                end.unstarted_messages.front()->state == MessageState::is_starting)
                finish_start(end);
            if (end.unstarted_messages.empty() || !can_start_next(end)) return;
            start(end);
        }
    });
}

// Returns true if the first unstarted message can be started or refused. Both ends refuse the same messages:
// those for which the "wanted" signal and the header differ.
bool NcclGroup::can_start_next(ChannelEnd& end) {
    NcclMessage& message = *end.unstarted_messages.front();
    if (message.is_send) return !end.signals.empty();
    if (!test_mpi_request(message)) return false;
    compare_header(message);
    return message.mismatch || message.bytes == 0 || !end.signals.empty();
}

// Sets the mismatch of a receive if its header announces another message. If MPI has already reported a
// mismatch and the arrived message is not a header, MPI's report is kept.
void NcclGroup::compare_header(NcclMessage& message) {
    const MessageHeader& header = message.header;
    const bool is_in_gpu_memory = header.marker == MessageHeader::gpu_marker;
    const bool is_equal =
        is_in_gpu_memory && header.label == message.label && std::cmp_equal(header.bytes, message.bytes);
    if (is_equal || (message.mismatch && !is_in_gpu_memory)) return;
    const Label arrived = is_in_gpu_memory ? static_cast<Label>(header.label) : message.label;
    message.mismatch.emplace(
        cat("rank ", rank(), " of the ", name(), " group waited for message ", message.label, " of ",
            message.bytes, " bytes from rank ", message.peer, ", but message ", arrived,
            is_in_gpu_memory ? cat(" of ", header.bytes, " bytes") : " with a tensor in host memory",
            " came; the two ranks send and receive in different orders"),
        message.label, arrived);
}

// Starts or refuses the first unstarted message.
void NcclGroup::start(ChannelEnd& end) {
    NcclMessage& message = *end.unstarted_messages.front();
    const bool is_refused = message.is_send ? !end.signals.front().matches(message.label, message.bytes)
                                            : message.mismatch.has_value();
    const bool is_empty = message.bytes == 0;  // then NCCL is not called
    // A send uses up its "wanted" in any case. A receive that is refused or empty gets no "sent".
    if (message.is_send || (!is_refused && !is_empty)) end.signals.pop_front();
    if (is_refused || is_empty) {
        message.state = is_refused ? MessageState::is_refused : MessageState::is_queued;
        end.unstarted_messages.pop_front();
        return;
    }
    end.channel->queue().wait_for(*message.ready_event);
    end.channel->start(message.memory, message.bytes);
    message.state = MessageState::is_starting;
}

void NcclGroup::finish_start(ChannelEnd& end) {
    NcclMessage& message = *end.unstarted_messages.front();
    end.channel->queue().mark(message.transfer_end.emplace());
    message.state = MessageState::is_queued;
    end.unstarted_messages.pop_front();
    if (message.is_send) signals_.send(message.peer, {.kind = Signal::Kind::sent});
}

// Aborts all messages if `call` throws ResourceError. Without the abort, the GPU would wait for messages that
// never come, and every call that frees GPU memory would wait for the GPU.
template <class Call>
void NcclGroup::abort_on_error(Call&& call) {
    try {
        call();
    } catch (const ResourceError&) {
        progress_engine_.abort_all();
        throw;
    }
}

void NcclGroup::abort_channels() noexcept {
    is_aborted_ = true;
    for (ChannelEndMap* const ends : {&send_ends_, &receive_ends_})
        for (auto& [peer, end] : *ends)
            if (end.channel != nullptr) end.channel->abort();
}

std::string NcclGroup::describe(RequestId id) const {
    const NcclMessage& message = messages_.at(id);
    return cat("rank ", rank(), message.is_send ? "'s message to rank " : "'s message from rank ",
               message.peer);
}

}  // namespace

std::unique_ptr<Communicator> make_nccl_group(NcclGroupSpec spec, device::WaitPolicy wait_policy) {
    return std::make_unique<NcclGroup>(std::move(spec), wait_policy);
}

}  // namespace trireme::comm
