#include "trireme/rank/watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::rank {
namespace {

constexpr double seconds_between_looks = 0.1;

template <class Note>
device::Tensor view_of(Note& note) {
    constexpr std::size_t words = sizeof(Note) / sizeof(std::int32_t);
    static_assert(words * sizeof(std::int32_t) == sizeof(Note));
    return {&note, device::DType::i32, 1, words, words};
}

}  // namespace

Watchdog::Watchdog(const comm::Session& session, double stall_seconds)
    : Watchdog(device::time_is_simulated() ? nullptr
                                           : session.all_ranks("watchdog", {.stall_seconds = stall_seconds}),
               session.host(), {.stall = stall_seconds}) {}

Watchdog::Watchdog(std::unique_ptr<comm::Communicator> group, const std::string& host,
                   const WatchdogSeconds& seconds)
    : seconds_(seconds), group_(std::move(group)) {
    if (!group_) return;
    seconds_.answer = std::max(seconds_.answer, seconds_.stall / 2);
    hosts_ = gather_all(*group_, host);
    for (int rank = 0; rank < group_->size(); ++rank) {
        if (rank != group_->rank()) others_.push_back(rank);
    }
}

device::Patience Watchdog::patience() const {
    return {.stall_seconds = seconds_.stall,
            .lookout = group_ ? &lookout_ : nullptr,
            .meanwhile = group_ ? postman_.meanwhile() : nullptr};
}

void Watchdog::look(double seconds_waited) {
    const double now = device::now_seconds();
    const double passed = now - last_look_;
    if (passed < seconds_between_looks) return;
    last_look_ = now;
    moves_ = seconds_waited < seconds_.stall;
    if (moves_) question_.reset();  // the awaited event has come
    take_notes();
    if (!lines_.empty()) end();
    if (!question_) return;
    // Time in which this rank was not scheduled does not count, because the others may not have run either.
    question_->seconds += std::min(passed, 2 * seconds_between_looks);
    judge();
}

void Watchdog::pose(const std::string& stall) {
    if (question_) return;  // an answer may take longer than a stall
    question_ = {.stall = stall};
    drop_sent();
    send({.kind = Kind::question, .question = ++questions_}, others_);
}

void Watchdog::judge() {
    const bool have_all_answered = question_->answered.size() == others_.size();
    if (have_all_answered && question_->somebody_moves) {
        question_.reset();
    } else if (have_all_answered || question_->seconds > seconds_.answer) {
        end();
    }
}

// The lowest rank that has sent a line reports at once. The others wait in turn for the ranks before them. A
// rank that learns of a report only waits for the end of the job.
void Watchdog::end() {
    Note own{.kind = Kind::line};
    std::string& line = lines_[group_->rank()] = position_();
    if (question_) line += "; " + question_->stall;
    line.copy(own.text.data(), own.text.size() - 1);
    send(own, others_);
    listen(seconds_.answer, hosts_.size());
    const auto before = std::distance(lines_.begin(), lines_.find(group_->rank()));
    listen(seconds_.turn * static_cast<double>(before), hosts_.size() + 1);
    if (another_speaks_) std::this_thread::sleep_for(std::chrono::duration<double>(seconds_.end_of_job));
    send({.kind = Kind::speaking}, others_);
    throw ResourceError(block());
}

// The sender never waits for these messages, because dead or stopped ranks never receive them.
void Watchdog::send(const Note& note, const std::vector<int>& peers) {
    Dispatch& dispatch = sent_.emplace_back(Dispatch{note, {}});
    for (const int peer : peers) dispatch.tickets.push_back(group_->start_send(view_of(dispatch.note), peer));
}

void Watchdog::drop_sent() {
    for (Dispatch& dispatch : sent_) {
        std::erase_if(dispatch.tickets,
                      [&](comm::Communicator::Ticket ticket) { return group_->is_done(ticket); });
    }
    std::erase_if(sent_, [](const Dispatch& dispatch) { return dispatch.tickets.empty(); });
}

// Waits until `enough` lines have arrived or another rank reports, for at most `seconds`.
void Watchdog::listen(double seconds, std::size_t enough) {
    const auto has_heard = [&] {
        take_notes();
        return another_speaks_ || lines_.size() >= enough;
    };
    try {
        device::wait_until(has_heard, {.stall_seconds = seconds}, [] { return "the other ranks' lines"; });
    } catch (const ResourceError&) {  // the stall means that some ranks do not answer
    }
}

void Watchdog::take_notes() {
    while (const std::optional<int> sender = group_->unasked_sender()) {
        Note note;
        group_->wait(std::array{group_->start_receive(view_of(note), *sender)});
        take(note, *sender);
    }
}

void Watchdog::take(const Note& note, int sender) {
    switch (note.kind) {
        case Kind::question:
            drop_sent();
            send({.kind = Kind::answer, .question = note.question, .moves = moves_ ? 1 : 0}, {sender});
            break;
        case Kind::answer:
            if (!question_ || note.question != questions_) break;
            question_->answered.insert(sender);
            question_->somebody_moves = question_->somebody_moves || note.moves != 0;
            break;
        case Kind::line:
            lines_[sender] = note.text.data();
            break;
        case Kind::speaking:
            another_speaks_ = true;
            break;
    }
}

std::string Watchdog::block() const {
    std::string text = cat("there has been no progress for ", seconds_.stall,
                           " s; a rank is dead or stuck, or --stall-timeout is too short");
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
        const auto line = lines_.find(static_cast<int>(rank));
        text += cat("\n  rank ", rank, " (", hosts_[rank], ") ",
                    line == lines_.end() ? "does not answer" : line->second);
    }
    return text;
}

double stall_limit(const plan::Plan& plan, int rank, double stall_timeout) {
    return plan.team_of(rank) < 0 ? std::numeric_limits<double>::infinity() : stall_timeout;
}

void read_together(comm::Communicator& control, double stall_limit, const std::function<void()>& read) {
    control.never_give_up();
    agree(control, read);
    control.give_up_after(stall_limit);
}

}  // namespace trireme::rank
