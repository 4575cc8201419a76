// A group that sends tensors in GPU memory over NCCL. A message from rank a to rank b:
//
//   rank a   start_send     header ->          NCCL's send in the queue, "sent" ->
//   rank b   start_receive  <- "wanted"                                        NCCL's receive in the queue
//
// The header is an MPI message: it keeps the order and reveals mismatches. No GPU waits for a rank that has not
// reached the message: a send is queued only once its receiver wants it, and a receive only once its send is
// queued. Therefore a process that waits for its GPU cannot block another one. (If receives were queued first,
// two such ranks could wait for sends that neither gets to start.)
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

struct Header {
    static constexpr std::int64_t of_gpu = 0x5472'6972'656d'6547;

    std::int64_t place = 0;
    std::int64_t label = 0;  // the whole label; tags hold it modulo the number of tags
    std::int64_t bytes = 0;

    device::Tensor view() { return {this, device::DType::i64, 1, 3, 3}; }
};

// `starts` means that NCCL has been called and has not yet put the work into the queue.
enum class State : std::uint8_t { waits, starts, is_in_queue, is_refused };

struct NcclMessage {
    bool is_send = false;
    int peer = 0;
    Label label = 0;
    bool is_of_gpu = false;  // otherwise in host memory, sent by MPI alone
    void* memory = nullptr;
    std::size_t bytes = 0;
    Communicator::Ticket travels = 0;  // MPI request of the header, or of a message in host memory
    bool has_travelled = false;
    Header header = {};
    State state = State::waits;
    std::optional<MessageMismatch> mismatch = {};
    std::optional<device::GpuMoment> may_start = {};  // a send's memory is filled, a receive's is free
    std::optional<device::GpuMoment> over = {};       // empty if the message has no bytes
};

// One end of a channel, and the messages that will pass it, in order.
struct End {
    std::unique_ptr<NcclChannel> channel;
    std::deque<NcclMessage*> waiting = {};  // includes the one that starts
    std::deque<Signal> heard = {};
};

class NcclGroup final : public Communicator {
public:
    NcclGroup(NcclWiring wiring, device::Patience patience);
    ~NcclGroup() override;
    NcclGroup(const NcclGroup&) = delete;
    NcclGroup& operator=(const NcclGroup&) = delete;

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
    using Ends = std::map<int, End>;  // key: the rank at the other end
    using Messages = std::map<Ticket, NcclMessage>;

    void open(const std::vector<RankPair>& pairs);
    void close();
    End& end_of(bool is_send, int peer);
    Messages::iterator add(bool is_send, int peer, Label label);

    void go_on();
    void go_on(End& end);
    bool may_start(End& end);
    bool has_come(NcclMessage& message);
    void look_at_header(NcclMessage& message);
    void start(End& end);
    void has_started(End& end);
    bool is_over(NcclMessage& message);
    void abandon() noexcept;
    template <class Call>
    void or_abandon(Call&& call);
    void require_not_abandoned() const {
        if (is_abandoned_)
            throw ResourceError(
                cat("the ", name(), " group's messages were given up: the job is about to end"));
    }

    std::shared_ptr<const NcclLibrary> library_;
    std::unique_ptr<Communicator> ranks_;
    Signals signals_;
    device::GpuQueue& queue_;
    Postman& postman_;
    Postman::Customer customer_ = {};
    int exceptions_ = std::uncaught_exceptions();  // number of uncaught exceptions at construction
    Ends to_, from_;
    Ticket next_ = 0;
    Messages messages_;
    bool is_abandoned_ = false;
};

NcclGroup::NcclGroup(NcclWiring wiring, device::Patience patience)
    : Communicator(patience),
      library_(std::move(wiring.library)),
      ranks_(std::move(wiring.ranks)),
      signals_(std::move(wiring.signals)),
      queue_(wiring.queue),
      postman_(wiring.postman) {
    open(wiring.pairs);
    customer_ = postman_.add({.go_on = [this] { go_on(); }, .abandon = [this] { abandon(); }});
}

// If an exception ends this rank, or messages are left, the job is about to be aborted and the others may never
// come. Then channels are aborted rather than closed.
NcclGroup::~NcclGroup() {
    postman_.remove(customer_);
    const bool is_orderly = std::uncaught_exceptions() <= exceptions_ && messages_.empty();
    try {
        if (is_orderly) close();
    } catch (const std::exception&) {  // abandon() aborts the remaining channels
    }
    abandon();
}

// All ranks open the channels in the same order; each waits for the other end of one channel at a time.
void NcclGroup::open(const std::vector<RankPair>& pairs) {
    std::vector<RankPair> ascending = pairs;
    std::ranges::sort(ascending);
    for (const auto& [from, to] : ascending) {
        if (from != rank() && to != rank()) continue;
        const ChannelEnds ends{.from = from, .to = to, .own = rank(), .group = name()};
        Ends& own = ends.is_sender() ? to_ : from_;
        own[ends.peer()].channel = open_channel(*library_, *ranks_, ends, patience());
    }
}

// Destroying a channel may wait for its other end. Therefore all channels first begin to close, and are then
// destroyed in the order in which they were opened.
void NcclGroup::close() {
    std::vector<NcclChannel*> channels;
    for (Ends* const ends : {&to_, &from_})
        for (auto& [peer, end] : *ends) channels.push_back(end.channel.get());
    std::ranges::sort(channels, {}, [](const NcclChannel* channel) {
        return RankPair(channel->ends().from, channel->ends().to);
    });
    for (NcclChannel* const channel : channels) channel->begin_to_close();
    for (NcclChannel* const channel : channels) close_channel(*channel, patience());
}

End& NcclGroup::end_of(bool is_send, int peer) {
    Ends& ends = is_send ? to_ : from_;
    const auto found = ends.find(peer);
    if (found == ends.end()) {
        throw BugError(cat("the ", name(), " group has no channel of NCCL's from rank ",
                           is_send ? rank() : peer, " to rank ", is_send ? peer : rank()));
    }
    return found->second;
}

NcclGroup::Messages::iterator NcclGroup::add(bool is_send, int peer, Label label) {
    const auto added = messages_.try_emplace(next_++).first;
    added->second.is_send = is_send;
    added->second.peer = peer;
    added->second.label = label;
    return added;
}

Communicator::Ticket NcclGroup::start_send(device::ConstTensor tensor, int peer, Label label) {
    if (!tensor.is_contiguous()) throw BugError("a message must be contiguous");
    traffic_.bytes_sent += tensor.bytes();
    if (tensor.place != device::MemorySpace::gpu) {
        const Ticket travels = ranks_->start_send(tensor, peer, label);
        const auto added = add(true, peer, label);
        added->second.travels = travels;
        return added->first;
    }
    End& end = end_of(true, peer);
    const auto added = add(true, peer, label);
    NcclMessage& message = added->second;
    message.is_of_gpu = true;
    message.memory = const_cast<void*>(tensor.data);  // NCCL only reads it
    message.bytes = tensor.bytes();
    message.header = {
        .place = Header::of_gpu, .label = label, .bytes = static_cast<std::int64_t>(message.bytes)};
    message.travels = ranks_->start_send(message.header.view(), peer, label);
    queue_.mark(message.may_start.emplace());
    end.waiting.push_back(&message);
    go_on();
    return added->first;
}

Communicator::Ticket NcclGroup::start_receive(device::Tensor tensor, int peer, Label label) {
    if (!tensor.is_contiguous()) throw BugError("a message must be contiguous");
    if (tensor.place != device::MemorySpace::gpu) {
        const Ticket travels = ranks_->start_receive(tensor, peer, label);
        const auto added = add(false, peer, label);
        added->second.travels = travels;
        return added->first;
    }
    End& end = end_of(false, peer);
    const auto added = add(false, peer, label);
    NcclMessage& message = added->second;
    message.is_of_gpu = true;
    message.memory = tensor.data;
    message.bytes = tensor.bytes();
    message.travels = ranks_->start_receive(message.header.view(), peer, label);
    queue_.mark(message.may_start.emplace());
    end.waiting.push_back(&message);
    signals_.tell(
        peer,
        {.kind = Signal::Kind::wanted, .label = label, .bytes = static_cast<std::int64_t>(message.bytes)});
    go_on();
    return added->first;
}

bool NcclGroup::is_done(Ticket ticket) {
    require_not_abandoned();
    go_on();
    const auto found = messages_.find(ticket);
    if (found == messages_.end())
        throw BugError(cat("message ", ticket, " of the ", name(), " group is not in flight"));
    NcclMessage& message = found->second;
    if (message.is_of_gpu) {
        if (!is_over(message)) return false;
    } else if (!has_come(message)) {
        return false;
    }
    const std::optional<MessageMismatch> mismatch = std::move(message.mismatch);
    messages_.erase(found);
    if (mismatch) throw MessageMismatch(*mismatch);
    return true;
}

// A receive is done once later work of the queue is ordered after it. A send is done only when it is over,
// since its memory is in use until then.
bool NcclGroup::is_over(NcclMessage& message) {
    if (message.state == State::is_refused) return !message.is_send || has_come(message);
    if (message.state != State::is_in_queue || !has_come(message)) return false;
    if (!message.over) return true;
    if (message.is_send) return message.over->is_over();
    queue_.wait_for(*message.over);
    return true;
}

// True if the MPI message of `message` has arrived, even if it is a mismatch.
bool NcclGroup::has_come(NcclMessage& message) {
    if (message.has_travelled) return true;
    try {
        message.has_travelled = ranks_->is_done(message.travels);
    } catch (const MessageMismatch& mismatch) {
        message.has_travelled = true;
        message.mismatch = mismatch;
    }
    return message.has_travelled;
}

void NcclGroup::progress() {
    go_on();
    ranks_->progress();
}

void NcclGroup::go_on() {
    signals_.listen([this](int peer, const Signal& signal) {
        end_of(signal.kind == Signal::Kind::wanted, peer).heard.push_back(signal);
    });
    for (Ends* const ends : {&to_, &from_})
        for (auto& [peer, end] : *ends) go_on(end);
}

void NcclGroup::go_on(End& end) {
    or_abandon([&] {
        while (end.channel->is_ready()) {
            if (!end.waiting.empty() && end.waiting.front()->state == State::starts) has_started(end);
            if (end.waiting.empty() || !may_start(end)) return;
            start(end);
        }
    });
}

// True if the first waiting message can be started or refused. Both ends refuse the same messages: those whose
// wanted and sent descriptions differ.
bool NcclGroup::may_start(End& end) {
    NcclMessage& message = *end.waiting.front();
    if (message.is_send) return !end.heard.empty();
    if (!has_come(message)) return false;
    look_at_header(message);
    return message.mismatch || message.bytes == 0 || !end.heard.empty();
}

void NcclGroup::look_at_header(NcclMessage& message) {
    const Header& header = message.header;
    const bool is_of_gpu = header.place == Header::of_gpu;
    const bool is_alike =
        is_of_gpu && header.label == message.label && std::cmp_equal(header.bytes, message.bytes);
    if (is_alike || (message.mismatch && !is_of_gpu)) return;
    const Label arrived = is_of_gpu ? static_cast<Label>(header.label) : message.label;
    message.mismatch.emplace(
        cat("rank ", rank(), " of the ", name(), " group waited for message ", message.label, " of ",
            message.bytes, " bytes from rank ", message.peer, ", but message ", arrived, " of ",
            is_of_gpu ? cat(header.bytes, " bytes") : "bytes of the machine's memory",
            " came; the two ranks send and receive in different orders"),
        message.label, arrived);
}

void NcclGroup::start(End& end) {
    NcclMessage& message = *end.waiting.front();
    const bool is_refused =
        message.is_send ? !end.heard.front().is_of(message.label, message.bytes) : message.mismatch.has_value();
    const bool is_empty = message.bytes == 0;  // has nothing for NCCL to send
    if (message.is_send || (!is_refused && !is_empty)) end.heard.pop_front();
    if (is_refused || is_empty) {
        message.state = is_refused ? State::is_refused : State::is_in_queue;
        end.waiting.pop_front();
        return;
    }
    end.channel->queue().wait_for(*message.may_start);
    end.channel->start(message.memory, message.bytes);
    message.state = State::starts;
}

void NcclGroup::has_started(End& end) {
    NcclMessage& message = *end.waiting.front();
    end.channel->queue().mark(message.over.emplace());
    message.state = State::is_in_queue;
    end.waiting.pop_front();
    if (message.is_send) signals_.tell(message.peer, {.kind = Signal::Kind::sent});
}

// Aborts all messages if `call` throws ResourceError. Otherwise the GPU would wait for messages that never
// come, and so would every call that frees its memory.
template <class Call>
void NcclGroup::or_abandon(Call&& call) {
    try {
        call();
    } catch (const ResourceError&) {
        postman_.abandon();
        throw;
    }
}

void NcclGroup::abandon() noexcept {
    is_abandoned_ = true;
    for (Ends* const ends : {&to_, &from_})
        for (auto& [peer, end] : *ends)
            if (end.channel != nullptr) end.channel->abort();
}

std::string NcclGroup::describe(Ticket ticket) const {
    const NcclMessage& message = messages_.at(ticket);
    return cat("rank ", rank(), message.is_send ? "'s message to rank " : "'s message from rank ",
               message.peer);
}

}  // namespace

std::unique_ptr<Communicator> nccl_group(NcclWiring wiring, device::Patience patience) {
    return std::make_unique<NcclGroup>(std::move(wiring), patience);
}

}  // namespace trireme::comm
