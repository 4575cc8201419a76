#include "train/watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme {
namespace {

constexpr double seconds_between_looks = 0.1;
constexpr double seconds_to_answer = 3;
constexpr double seconds_to_speak = 2;
constexpr std::chrono::seconds time_to_end_the_job{10};
constexpr const char* speaking = "speaks";  // in place of a line

// A text as it travels: four letters in a number, zeros behind its end.
using Letters = std::array<std::int32_t, 64>;

Tensor view_of(Letters& letters) { return {letters.data(), DType::i32, 1, letters.size(), letters.size()}; }

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

// The lowest rank that has sent a line speaks at once; the k-th gives those before it time, each in its turn.
// One that wakes when somebody speaks already has only to wait for the end.
void Watchdog::tell(const std::string& stall) {
    lines_[group_->rank()] = position_() + (stall.empty() ? "" : "; " + stall);
    send(lines_[group_->rank()]);
    listen(seconds_to_answer, hosts_.size());
    const auto before = std::distance(lines_.begin(), lines_.find(group_->rank()));
    listen(seconds_to_speak * static_cast<double>(before), hosts_.size() + 1);
    if (another_speaks_) std::this_thread::sleep_for(time_to_end_the_job);
    send(speaking);
    throw ResourceError(block());
}

// To all others. Nobody waits for these messages: a rank that is dead or stopped never takes its own.
void Watchdog::send(const std::string& text) {
    Letters& letters = sent_.emplace_back();
    std::memcpy(letters.data(), text.data(), std::min(text.size(), sizeof(letters) - 1));
    for (int peer = 0; peer < group_->size(); ++peer) {
        if (peer != group_->rank()) group_->start_send(view_of(letters), peer);
    }
}

// Until so many lines have come, or somebody speaks.
void Watchdog::listen(double seconds, std::size_t enough) {
    const auto has_heard = [&] {
        take_messages();
        return another_speaks_ || lines_.size() >= enough;
    };
    try {
        wait_until(has_heard, {.stall_seconds = seconds}, [] { return "the other ranks' lines"; });
    } catch (const ResourceError&) {  // the stall is the answer: some ranks do not
    }
}

void Watchdog::take_messages() {
    while (const std::optional<int> sender = group_->unasked_sender()) {
        Letters letters{};
        group_->wait(std::array{group_->start_receive(view_of(letters), *sender)});
        const std::string text = reinterpret_cast<const char*>(letters.data());
        if (text == speaking) {
            another_speaks_ = true;
        } else {
            lines_[*sender] = text;
        }
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
