#include "train/watchdog.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme {
namespace {

constexpr double seconds_between_looks = 0.1;
constexpr double seconds_to_answer = 3;
constexpr double seconds_to_speak = 2;

}  // namespace

Watchdog::Watchdog(const Session& session, double stall_seconds) : stall_seconds_(stall_seconds) {
    if (time_is_simulated()) return;
    group_ = session.all_ranks("watchdog", {.stall_seconds = stall_seconds});
    hosts_ = gather_all(*group_, session.host());
}

Patience Watchdog::patience() const {
    return {.stall_seconds = stall_seconds_, .lookout = group_ ? &lookout_ : nullptr};
}

void Watchdog::look() {
    const double now = now_seconds();
    if (now - last_look_ < seconds_between_looks) return;
    last_look_ = now;
    if (group_->unasked_sender()) tell("");
}

// A rank speaks at once if it is the lowest that has sent a line; the k-th of them gives those before it time
// to end the job, each in its turn.
void Watchdog::tell(const std::string& stall) {
    send_line(stall);
    take_lines_for(seconds_to_answer, hosts_.size());
    const auto before = std::distance(lines_.begin(), lines_.find(group_->rank()));
    take_lines_for(seconds_to_speak * static_cast<double>(before), hosts_.size() + 1);
    throw ResourceError(block());
}

// Nobody waits for these messages: a rank that is dead or stopped never takes its own.
void Watchdog::send_line(const std::string& stall) {
    std::string line = position_();
    if (!stall.empty()) line += "; " + stall;
    lines_[group_->rank()] = line;
    std::memcpy(own_letters_.data(), line.data(), std::min(line.size(), sizeof(own_letters_) - 1));
    for (int peer = 0; peer < group_->size(); ++peer) {
        if (peer == group_->rank()) continue;
        group_->start_send({own_letters_.data(), DType::i32, 1, own_letters_.size(), own_letters_.size()},
                           peer);
    }
}

void Watchdog::take_lines() {
    while (const std::optional<int> sender = group_->unasked_sender()) {
        Letters letters{};
        const Tensor place{letters.data(), DType::i32, 1, letters.size(), letters.size()};
        group_->wait(std::array{group_->start_receive(place, *sender)});
        lines_[*sender] = reinterpret_cast<const char*>(letters.data());
    }
}

void Watchdog::take_lines_for(double seconds, std::size_t enough) {
    const auto has_enough = [&] {
        take_lines();
        return lines_.size() >= enough;
    };
    try {
        wait_until(has_enough, {.stall_seconds = seconds}, [] { return "lines"; });
    } catch (const ResourceError&) {  // the stall is the answer: some ranks do not
    }
}

std::string Watchdog::block() const {
    std::string text = cat("there has been no progress for ", stall_seconds_,
                           " s; a rank is dead or stuck, or --stall-timeout is too short");
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
        const auto line = lines_.find(static_cast<int>(rank));
        text += cat("\n  rank ", rank, " (", hosts_[rank], ") ",
                    line == lines_.end() ? "does not answer" : line->second);
    }
    return text;
}

}  // namespace trireme
