// Ends a job that stands still, and says where every rank stands.
//
// A rank that has waited too long sends its line to all others. A rank that gets one, while it waits or between
// two layers, sends its own to all. The lowest of those that have done so speaks for them, and takes all with
// it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trireme/comm/session.hpp"

namespace trireme {

// Made while all ranks are well; outlives every group that has its patience.
class Watchdog {
public:
    // Collective over all ranks. Does nothing in a simulation, which finds by itself that nobody can go on.
    Watchdog(const Session& session, double stall_seconds);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // For the groups that this rank waits in.
    Patience patience() const;

    // What to say of this rank from now on: "stands at 2RECV_B0, instruction 7 of 20". Outlives the last wait.
    void ask(std::function<std::string()> position) { position_ = std::move(position); }

private:
    void look();
    [[noreturn]] void tell(const std::string& stall);
    void send(const std::string& text);
    void listen(double seconds, std::size_t enough);
    void take_messages();
    std::string block() const;

    double stall_seconds_;
    Lookout lookout_{.look = [this] { look(); }, .tell = [this](const std::string& stall) { tell(stall); }};
    std::unique_ptr<Communicator> group_;  // none: the time is simulated
    std::vector<std::string> hosts_;       // per rank
    std::function<std::string()> position_ = [] { return std::string("prepares"); };
    double last_look_ = 0;
    std::deque<std::array<std::int32_t, 64>> sent_;  // texts on their way
    std::map<int, std::string> lines_;               // of the ranks that have sent one, and this one's
    bool another_speaks_ = false;
};

}  // namespace trireme
