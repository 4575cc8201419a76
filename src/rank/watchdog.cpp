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

constexpr double min_seconds_between_observations = 0.1;

// Returns a view of the message as a row of 32-bit integers.
template <class Message>
device::Tensor make_view(Message& message) {
    constexpr std::size_t columns = sizeof(Message) / sizeof(std::int32_t);
    static_assert(columns * sizeof(std::int32_t) == sizeof(Message));
    return {&message, device::DType::i32, 1, columns, columns};
}

}  // namespace

Watchdog::Watchdog(const comm::Session& session, double stall_seconds)
    : Watchdog(device::time_is_simulated()
                   ? nullptr
                   : session.make_group_of_all_ranks("watchdog", {.stall_seconds = stall_seconds}),
               session.host(), {.stall = stall_seconds}) {}

Watchdog::Watchdog(std::unique_ptr<comm::Communicator> group, const std::string& host,
                   const WatchdogSeconds& seconds)
    : seconds_(seconds), group_(std::move(group)) {
    if (!group_) return;
    seconds_.answer = std::max(seconds_.answer, seconds_.stall / 2);
    hosts_ = all_gather(*group_, host);
    for (int rank = 0; rank < group_->size(); ++rank) {
        if (rank != group_->rank()) other_ranks_.push_back(rank);
    }
}

device::WaitPolicy Watchdog::wait_policy() const {
    return {.stall_seconds = seconds_.stall,
            .observer = group_ ? &observer_ : nullptr,
            .between_polls = group_ ? progress_engine_.between_polls() : nullptr};
}

void Watchdog::observe_wait(double seconds_waited) {
    const double now = device::now_seconds();
    const double seconds_since_last = now - last_observation_time_;
    if (seconds_since_last < min_seconds_between_observations) return;
    last_observation_time_ = now;
    makes_progress_ = seconds_waited < seconds_.stall;
    if (makes_progress_) question_.reset();  // the wait about which this rank asked has ended
    receive_messages();
    if (!positions_.empty()) end_job();
    if (!question_) return;
    // If more than twice the minimum interval has passed since the last observation, this rank was not
    // scheduled in between. The excess does not count, because the other ranks may not have run either.
    question_->run_seconds += std::min(seconds_since_last, 2 * min_seconds_between_observations);
    judge_answers();
}

void Watchdog::ask_others(const std::string& stall) {
    if (question_) return;  // answers to the previous question may still come
    question_ = {.stall = stall};
    forget_completed_sends();
    send({.kind = MessageKind::question, .question = ++question_count_}, other_ranks_);
}

void Watchdog::judge_answers() {
    const bool have_all_answered = question_->answering_ranks.size() == other_ranks_.size();
    if (have_all_answered && question_->has_progressing_rank) {
        question_.reset();
    } else if (have_all_answered || question_->run_seconds > seconds_.answer) {
        end_job();
    }
}

// Sends this rank's position, and collects the positions of the other ranks for at most seconds_.answer. Then
// the lowest rank that has sent its position reports at once. Each other rank first gives the lower ranks time
// to report. A rank that learns of a report waits for the reporting rank to end the job. The waiting rank makes
// its own report only if the job does not end in time.
void Watchdog::end_job() {
    Message own_message{.kind = MessageKind::position};
    std::string& position = positions_[group_->rank()] = describe_position_();
    if (question_) position += "; " + question_->stall;
    position.copy(own_message.text.data(), own_message.text.size() - 1);
    send(own_message, other_ranks_);
    receive_positions(seconds_.answer, hosts_.size());
    const auto lower_rank_count = std::distance(positions_.begin(), positions_.find(group_->rank()));
    // There are only hosts_.size() positions, so this call ends when another rank reports or the time is up.
    receive_positions(seconds_.report_turn * static_cast<double>(lower_rank_count), hosts_.size() + 1);
    if (another_rank_reports_) std::this_thread::sleep_for(std::chrono::duration<double>(seconds_.end_of_job));
    send({.kind = MessageKind::report}, other_ranks_);
    throw ResourceError(describe_all_positions());
}

// The sender never waits until these messages are received, because dead or stopped ranks never receive them.
void Watchdog::send(const Message& message, const std::vector<int>& peers) {
    SentMessage& sent = sent_messages_.emplace_back(SentMessage{message, {}});
    for (const int peer : peers) sent.ids.push_back(group_->start_send(make_view(sent.message), peer));
}

void Watchdog::forget_completed_sends() {
    for (SentMessage& sent : sent_messages_) {
        std::erase_if(sent.ids, [&](comm::Communicator::RequestId id) { return group_->is_done(id); });
    }
    std::erase_if(sent_messages_, [](const SentMessage& sent) { return sent.ids.empty(); });
}

// Waits until `min_positions` positions are known or another rank reports, but for at most `seconds`.
void Watchdog::receive_positions(double seconds, std::size_t min_positions) {
    const auto has_received = [&] {
        receive_messages();
        return another_rank_reports_ || positions_.size() >= min_positions;
    };
    try {
        device::wait_until(has_received, {.stall_seconds = seconds}, [] { return "the other ranks' lines"; });
    } catch (const ResourceError&) {  // the stall means that some ranks do not answer
    }
}

void Watchdog::receive_messages() {
    while (const std::optional<int> sender = group_->probe_sender()) {
        Message message;
        group_->wait(std::array{group_->start_receive(make_view(message), *sender)});
        handle(message, *sender);
    }
}

void Watchdog::handle(const Message& message, int sender) {
    switch (message.kind) {
        case MessageKind::question:
            forget_completed_sends();
            send({.kind = MessageKind::answer,
                  .question = message.question,
                  .makes_progress = makes_progress_ ? 1 : 0},
                 {sender});
            break;
        case MessageKind::answer:
            if (!question_ || message.question != question_count_) break;
            question_->answering_ranks.insert(sender);
            question_->has_progressing_rank = question_->has_progressing_rank || message.makes_progress != 0;
            break;
        case MessageKind::position:
            positions_[sender] = message.text.data();
            break;
        case MessageKind::report:
            another_rank_reports_ = true;
            break;
    }
}

std::string Watchdog::describe_all_positions() const {
    std::string text = cat("there has been no progress for ", seconds_.stall,
                           " s; a rank is dead or stuck, or --stall-timeout is too short");
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
        const auto position = positions_.find(static_cast<int>(rank));
        text += cat("\n  rank ", rank, " (", hosts_[rank], ") ",
                    position == positions_.end() ? "does not answer" : position->second);
    }
    return text;
}

double choose_stall_limit(const plan::Plan& plan, int rank, double stall_timeout) {
    return plan.find_team(rank) < 0 ? std::numeric_limits<double>::infinity() : stall_timeout;
}

void read_with_unlimited_wait(comm::Communicator& control, double stall_limit,
                              const std::function<void()>& read) {
    control.disable_stall_limit();
    run_or_fail_together(control, read);
    control.set_stall_seconds(stall_limit);
}

}  // namespace trireme::rank
